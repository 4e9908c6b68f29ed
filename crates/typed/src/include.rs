//! Including a generated module.

/// Declares a module with the code that `keyloom-build` has generated for it: `include_model!(pub mod tasks)`
/// contains `tasks.rs` from the `OUT_DIR` of the package.
///
/// It allows what a model may cause in any code that is generated from it, such as queries that are not
/// used, and functions of many required fields.
#[macro_export]
macro_rules! include_model {
    ($(#[$attribute:meta])* $visibility:vis mod $name:ident) => {
        $(#[$attribute])*
        #[allow(
            dead_code,
            unreachable_pub,
            clippy::enum_variant_names,
            clippy::large_enum_variant,
            clippy::should_implement_trait,
            clippy::too_many_arguments,
            clippy::type_complexity,
            clippy::wrong_self_convention
        )]
        $visibility mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        }
    };
}
