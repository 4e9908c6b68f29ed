//! What a command is, and what all of them have in common.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, value_parser};
use keyloom::{Number, Value};
use keyloom_model::FieldType;
use keyloom_store::Time;

/// The name of the binary.
pub(crate) const PROGRAM: &str = "keyloom";

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
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the result as JSON")
}

/// The argument that names a file to write to.
pub(crate) fn output_argument() -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Output file [default: stdout]")
}

/// A path that another process understands.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{} is no path: {error}.", path.display()))
}

/// A moment since 1970 as RFC 3339 writes it: what a field of the type `time` takes.
pub(crate) fn time(text: &str) -> Option<Time> {
    let taken = FieldType::Time.to_stored(&Value::from(text));
    let ms = taken.as_n().and_then(Number::to_i64).and_then(|ms| u64::try_from(ms).ok());
    ms.map(Time)
}

/// Writes to standard output.
pub(crate) fn say(text: &str) -> Result<(), String> {
    let mut output = std::io::stdout();
    let said = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    said.map_err(|error| format!("the answer cannot be written: {error}."))
}
