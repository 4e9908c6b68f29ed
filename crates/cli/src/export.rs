//! `keyloom export`: every entity of a database as a line of JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches};
use keyloom_app::operations::{Export, call};

use crate::command::{Command, output_argument};
use crate::model_file::{ModelFile, data_argument};
use crate::progress::ProgressBar;

pub(crate) const COMMAND: Command = Command { name: "export", describe, run };

const EXAMPLES: &str = "\
Each line is one entity; all tenants are exported:
  {\"entity\":\"contact\",\"id\":\"7\",\"tenant\":\"acme\",\"fields\":{\"domain\":\"acme\",\"name\":\"Ann\"}}
Entities come after those they refer to. Numbers are exact, times are RFC 3339 in UTC, bytes are
base64. Expired entities are not exported.

Examples:
  keyloom export apps/kitchen/model.toml --data ./data --output kitchen.jsonl
      Export everything to a new file

  keyloom export model.toml --data ./data --entity category --entity ingredient | gzip > some.gz
      Export two entities to stdout

  keyloom export old.toml --data ./old | keyloom import new.toml --data ./new
      Copy data from one model to another";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Export entities as JSON Lines")
        .arg(ModelFile::argument())
        .arg(data_argument("Data directory; a server that has it open runs the command"))
        .arg(output_argument())
        .arg(
            Arg::new("entity")
                .long("entity")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("Export only this entity; repeatable"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let model = ModelFile::named(arguments)?.text;
    let kinds = arguments.get_many::<String>("entity").unwrap_or_default().cloned().collect();
    let path = arguments.get_one::<PathBuf>("output").map(PathBuf::as_path);
    // A file is created only when there is something to write.
    let mut output = None::<Box<dyn Write>>;
    let mut bar = ProgressBar::new("entities");
    let failed = |error: std::io::Error| format!("the lines cannot be written: {error}.");
    let export = Export { model, kinds };
    call(arguments, export, None, &mut |told| {
        bar.hear(told, |line| {
            let lines = match &mut output {
                Some(lines) => lines,
                None => output.insert(open_output(path)?),
            };
            writeln!(lines, "{line}").map_err(failed)
        })
    })?;
    output.map_or_else(|| open_output(path), Ok)?.flush().map_err(failed)
}

/// Standard output, or a file that was not there.
pub(crate) fn open_output(path: Option<&Path>) -> Result<Box<dyn Write>, String> {
    let Some(path) = path else { return Ok(Box::new(BufWriter::new(std::io::stdout()))) };
    let file = File::create_new(path).map_err(|error| {
        format!("{} cannot be made: {error}. Name a file that is not there.", path.display())
    })?;
    Ok(Box::new(BufWriter::new(file)))
}
