//! Tests of the binary with third-party software: AWS SDKs, other DynamoDB servers, OpenAPI validators and
//! generators, a browser.
//!
//! It is installed from npm, PyPI and Debian on the first run, below the target folder where possible.
//! So these tests are not part of `cargo test --workspace`; `cargo xtask judges` runs them.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod browser;
mod clients;
mod console;
mod documents;
mod foreign;
mod generated;
mod lints;
mod mcp;
mod openapi;
mod oracles;
mod remote;
mod size;

/// Shared with `tests/it`.
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../it"]
mod it {
    pub(crate) mod process;
    pub(crate) mod random_data;
    pub(crate) mod remote {
        pub(crate) mod differences;
        pub(crate) mod endpoint;
    }
}
use it::{process, random_data};
