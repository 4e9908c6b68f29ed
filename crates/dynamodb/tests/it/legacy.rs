//! The parameters that expressions replaced: their meaning, their errors, and that they do what the
//! equivalent expressions do.

mod attribute_updates;
mod attributes_to_get;
mod equivalence;
mod expected;
mod filters;
mod key_conditions;
mod mixing;
mod shapes;
