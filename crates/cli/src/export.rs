//! `keyloom export`: writes every entity as a line of JSON.

use std::io::Write;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches};
use keyloom_app::operations::{Export, call};
use keyloom_app::source;

use crate::command::{Command, open_output, output_argument};
use crate::model_file::ModelFile;
use crate::progress::ProgressBar;

pub(crate) const COMMAND: Command = Command { name: "export", describe, run };

const EXAMPLES: &str = "\
Each line is one entity; all tenants are exported:
  {\"entity\":\"contact\",\"id\":\"7\",\"tenant\":\"acme\",\"fields\":{\"domain\":\"acme\",\"name\":\"Ann\"}}
Entities come after those they refer to. Numbers are exact, times are RFC 3339 in UTC, bytes are
base64. Expired entities are not exported. A data directory is exported as of one moment. DynamoDB has no
snapshots: what is written meanwhile may be missing.

Examples:
  keyloom export apps/kitchen/model.toml --data ./data --output kitchen.jsonl
      Export everything to a new file

  keyloom export model.toml --data ./data --entity category --entity ingredient | gzip > some.gz
      Export two entities to stdout

  keyloom export old.toml --data ./old | keyloom import new.toml --data ./new
      Copy data from one model to another

  keyloom export model.toml --dynamodb kitchen --region eu-central-1 --output kitchen.jsonl
      Export a DynamoDB table, with the credentials of the environment or ~/.aws";

fn describe(command: clap::Command) -> clap::Command {
    let command = command
        .about("Export entities as JSON Lines")
        .arg(ModelFile::argument())
        .arg(output_argument())
        .arg(
            Arg::new("entity")
                .long("entity")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("Export only this entity; repeatable"),
        )
        .after_help(EXAMPLES);
    source::arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let model = ModelFile::from_arguments(arguments)?.text;
    let kinds = arguments.get_many::<String>("entity").unwrap_or_default().cloned().collect();
    let path = arguments.get_one::<PathBuf>("output").map(PathBuf::as_path);
    // The file is created at the first line, so a failed start leaves none behind.
    let mut output = None::<Box<dyn Write>>;
    let mut bar = ProgressBar::new("entities");
    let failed = |error: std::io::Error| format!("cannot write the output: {error}.");
    let export = Export { model, kinds };
    call(arguments, export, None, &mut |update| {
        bar.handle(update, |line| {
            let lines = match &mut output {
                Some(lines) => lines,
                None => output.insert(open_output(path)?),
            };
            writeln!(lines, "{line}").map_err(failed)
        })
    })?;
    output.map_or_else(|| open_output(path), Ok)?.flush().map_err(failed)
}
