//! The binary as its users see it: its help, its refusals, and clients of others that talk to it.
//! And the remote store, against our own endpoint and against servers of others.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod arguments;
mod aws_settings;
mod browser;
mod charts;
mod clients;
mod copies;
mod deep;
mod explain;
mod foreign;
mod help;
mod hostile_lines;
mod http;
mod imports;
mod jobs;
mod kill;
mod killed_import;
mod models;
mod once;
mod openapi;
mod oracles;
mod process;
mod readme;
mod remote;
mod round_trip;
mod sdk_for_rust;
mod services;
mod tokens;

/// The library's random histories, to be played on the remote store.
#[allow(dead_code, unused_imports, reason = "not all of it is played here")]
#[path = "../../../keyloom/tests/it"]
mod library {
    pub(crate) mod world;
}
use library::world;
mod webhooks;
mod wrong_directories;
