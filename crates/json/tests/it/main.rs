//! Tests of the reader: against serde_json, and its limits.
// Helper functions of tests panic to report, where the lints' exemption does not reach.
#![allow(clippy::unwrap_used)]

mod hostile;
mod limits;
mod strings;
mod tree;
