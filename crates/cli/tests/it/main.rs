//! The binary as its users see it: help, errors, servers with clients; and the remote store over our
//! own endpoint. Tests that need third-party software are in `tests/judges`.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod arguments;
mod aws_settings;
mod bulk;
mod charts;
mod clients;
mod copies;
mod copying;
mod damaged_files;
mod deep;
mod environment;
mod explain;
mod gallery;
mod guide_programs;
mod guides;
mod help;
mod hostile_lines;
mod http;
mod imports;
mod infrastructure;
mod jobs;
mod kill;
mod killed_import;
mod mcp;
mod migrations;
mod model_reloads;
mod models;
mod once;
mod online;
mod openapi;
mod plans;
mod process;
mod random_data;
mod readme;
mod reference;
mod remote;
mod repair;
mod round_trip;
mod sdk_for_rust;
mod services;
mod small_disk;
mod tokens;

/// The random histories of the library, for the remote store.
#[allow(dead_code, unused_imports, reason = "not all of it is used here")]
#[path = "../../../keyloom/tests/it"]
mod library {
    pub(crate) mod world;
}
use library::world;
mod webhooks;
mod wrong_directories;
