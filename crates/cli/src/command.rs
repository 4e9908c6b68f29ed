//! What a command is, and what all of them have in common.

use std::io::Write;

use clap::{Arg, ArgAction};

/// One command of the binary.
pub(crate) struct Command {
    /// What is typed.
    pub(crate) name: &'static str,
    /// Adds what it is for, and its arguments.
    pub(crate) describe: fn(clap::Command) -> clap::Command,
    /// Does it. An error is a sentence that says what to do.
    pub(crate) run: fn(&clap::ArgMatches) -> Result<(), String>,
}

/// The argument that asks for an answer that a program can read.
pub(crate) fn json_argument() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Answer in JSON, for programs")
}

/// Writes to standard output.
pub(crate) fn say(text: &str) -> Result<(), String> {
    let mut output = std::io::stdout();
    let said = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    said.map_err(|error| format!("the answer cannot be written: {error}."))
}
