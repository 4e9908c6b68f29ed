//! The binary as its users see it: its help, its refusals, and clients of others that talk to it.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod arguments;
mod charts;
mod clients;
mod copies;
mod help;
mod hostile_lines;
mod http;
mod imports;
mod kill;
mod killed_import;
mod models;
mod once;
mod openapi;
mod oracles;
mod process;
mod readme;
mod round_trip;
mod tokens;
