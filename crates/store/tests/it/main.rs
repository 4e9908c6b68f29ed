//! Tests of the store through what it exports, and of what it rests on.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod canary;
mod conformance;
mod histories;
mod messages;
mod reach;
mod redb_crash;
mod subjects;
