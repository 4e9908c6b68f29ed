//! What a command is, and arguments and output that commands share.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, value_parser};
use keyloom::{Number, Value};
use keyloom_model::FieldType;
use keyloom_store::Time;

/// The name of the binary.
pub(crate) const PROGRAM: &str = "keyloom";

/// One command of the binary.
pub(crate) struct Command {
    /// The subcommand, as typed.
    pub(crate) name: &'static str,
    /// Adds the description and the arguments.
    pub(crate) describe: fn(clap::Command) -> clap::Command,
    /// Runs the command. An error is a sentence that says how to fix it.
    pub(crate) run: fn(&clap::ArgMatches) -> Result<(), String>,
}

/// `--json`, for output that programs read.
pub(crate) fn json_argument() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the result as JSON")
}

/// `--output`, the file to write to.
pub(crate) fn output_argument() -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Output file [default: stdout]")
}

/// Opens stdout, or creates a file. Existing files are never overwritten.
pub(crate) fn open_output(path: Option<&Path>) -> Result<Box<dyn Write>, String> {
    let Some(path) = path else { return Ok(Box::new(BufWriter::new(std::io::stdout()))) };
    let file = File::create_new(path).map_err(|error| {
        format!("cannot create {}: {error}. Existing files are not overwritten.", path.display())
    })?;
    Ok(Box::new(BufWriter::new(file)))
}

/// The absolute path, which a server in another directory also understands.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("invalid path {}: {error}.", path.display()))
}

/// Parses an RFC 3339 time since 1970, as fields of type `time` do.
pub(crate) fn time(text: &str) -> Option<Time> {
    let taken = FieldType::Time.to_stored(&Value::from(text));
    let ms = taken.as_n().and_then(Number::to_i64).and_then(|ms| u64::try_from(ms).ok());
    ms.map(Time)
}

/// Writes to stdout and flushes, so that a closed pipe is an error of the command.
pub(crate) fn write_stdout(text: &str) -> Result<(), String> {
    let mut output = std::io::stdout();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| format!("cannot write to stdout: {error}."))
}
