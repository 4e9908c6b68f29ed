//! Tests of the hunt in simulated worlds, and of the program with real requests.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod demo;
mod earlier;
mod end_to_end;
mod hunts;
mod laws;
mod readme;
mod receivers;
mod samples;
mod servers;
mod services;
mod world;
