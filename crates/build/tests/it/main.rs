//! The tests of generated code that need no compiler. `examples/typed` compiles and runs it.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod errors;
mod goldens;
mod random_models;
