//! The command line: the binary `keyloom`, and what applications with routes of their own are
//! served with.
//!
//! One file for each command. What a command does is in the crates below; here are arguments,
//! progress and sentences.

mod backup;
mod chart;
mod check;
mod command;
mod compact;
mod completions;
mod copy;
mod demo;
mod dynamodb;
mod explain;
mod export;
mod health;
mod import;
mod jobs;
mod model_file;
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
