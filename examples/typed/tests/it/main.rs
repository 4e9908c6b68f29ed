//! Generated modules at work: programs on both stores, random histories beside the same ones without types,
//! and the examples of the guide.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod comments;
mod gallery;
mod guide;
mod kitchen;
mod oncall;
mod tasks;
mod twins;
mod unfit;
