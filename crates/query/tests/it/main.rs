//! Reads return what was written, on every store.
// Tests panic and print to report, in their helper functions too, where the lints' exemption does
// not reach.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod budgets;
mod choose;
mod cursors;
mod explain;
mod family;
mod get;
mod lists;
mod naive;
mod pages;
mod rig;
mod things;
mod watched;
