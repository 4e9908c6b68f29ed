//! A case of the suite.

use crate::Subject;

/// One claim about stores.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The claim, as the path of its function.
    pub name: &'static str,
    /// Panics if the claim is false for a fresh subject.
    pub run: fn(&dyn Subject),
}

/// Makes cases of the functions of a file, named after them.
macro_rules! claims {
    ($($run:ident),* $(,)?) => {
        &[$($crate::conformance::Case {
            name: concat!(module_path!(), "::", stringify!($run)),
            run: $run,
        }),*]
    };
}
pub(super) use claims;
