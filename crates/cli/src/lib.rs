//! The command line: the binary `keyloom`.
//!
//! One file or folder per command. The work is done in the crates below; this one parses arguments,
//! shows progress and formats results.

mod backup;
mod chart;
mod check;
mod client;
mod command;
mod compact;
mod completions;
mod copied;
mod copy;
mod demo;
mod dynamodb;
mod explain;
mod export;
mod health;
mod import;
mod infrastructure;
mod jobs;
mod mcp;
mod migrate;
mod model_file;
mod plan;
mod progress;
mod restore;
mod run;
mod scrub;
mod serve;
mod status;
mod token;
mod tree_damage;
mod verify;
mod webhooks;

pub use run::run;
