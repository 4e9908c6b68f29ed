//! What a command is.

/// One command of the binary.
pub(crate) struct Command {
    /// What is typed.
    pub(crate) name: &'static str,
    /// Adds what it is for, and its arguments.
    pub(crate) describe: fn(clap::Command) -> clap::Command,
    /// Does it. An error is a sentence that says what to do.
    pub(crate) run: fn(&clap::ArgMatches) -> Result<(), String>,
}
