//! Tests of the test support itself, through its public interface.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod disk_contract;
mod language;
mod model;
mod sloppy_log;
