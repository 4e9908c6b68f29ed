//! Judges: software that we did not write says whether the binary is right. Amazon's SDKs, other
//! DynamoDBs, validators and generators of OpenAPI, a browser.
//!
//! They are installed from npm, PyPI and Debian on the first run, below the target folder where that
//! is possible, so this is no part of `cargo test --workspace`: `cargo xtask judges` runs it.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod browser;
mod clients;
mod foreign;
mod openapi;
mod oracles;
mod remote;
mod size;

/// What both tiers use.
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../it"]
mod it {
    pub(crate) mod process;
    pub(crate) mod remote {
        pub(crate) mod differences;
        pub(crate) mod endpoint;
    }
}
use it::process;
