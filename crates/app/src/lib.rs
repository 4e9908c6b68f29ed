//! Programs that serve a model: command-line options, opening data, listening, background workers,
//! stopping.
//!
//! An [`Application`] is a model with routes, event handlers and settings of its own;
//! [`Application::run`] makes a program of it. The binary `keyloom` uses the same pieces for models
//! that need no code.
//!
//! [`operations`] are what commands do with data, and [`mod@plan`] what a workload costs; they print nothing. This crate knows only the command
//! lines of servers, and decides nothing about data or HTTP: the crates `keyloom` and `keyloom-server`
//! do.

mod admin_token;
mod application;
mod chores;
mod console;
mod damage;
mod environment;
// Public modules, so that `source::open` and `listen::bind` say what they open and bind.
pub mod directory;
mod issuers;
pub mod limits;
pub mod listen;
pub mod logging;
mod model_reload;
pub mod operations;
pub mod pages;
pub mod panics;
mod parts;
pub mod plan;
pub mod random;
pub mod reload;
mod serve;
mod settings;
pub mod socket;
pub mod source;
mod worker;

pub use application::{Application, exit};
pub use console::{log, print};
pub use damage::DamageWatch;
pub use environment::Environment;
pub use model_reload::ModelSource;
pub use parts::Parts;
pub use serve::{Served, directory_of, serve, serve_arguments};
pub use settings::{Setting, Settings, Takes, secret};
