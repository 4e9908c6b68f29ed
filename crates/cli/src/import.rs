//! `keyloom import`: imports JSON Lines, with the same checks as any other write.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom_app::operations::{Import, Input, OnProblem, Summary, call};
use keyloom_app::source as data;

use crate::command::{Command, json_argument, write_stdout};
use crate::model_file::ModelFile;
use crate::progress::{ProgressBar, grouped};

pub(crate) const COMMAND: Command = Command { name: "import", describe, run };

const EXAMPLES: &str = "\
The input is what `keyloom export` writes, in any order. Entities keep their ids; omitted fields get
their defaults. Existing entities with equal fields are skipped, so an interrupted import can be
repeated with the same command. Existing entities that differ are errors, unless --replace is given.
A data directory or table that does not exist is created. To load much data into DynamoDB, import it into
a directory and run `keyloom copy`: that is faster and costs less.

Examples:
  keyloom import apps/kitchen/model.toml --data ./data kitchen.jsonl
      Stop at the first line that cannot be imported; later lines may have been imported too

  gunzip -c kitchen.gz | keyloom import apps/kitchen/model.toml --data ./data --keep-going
      Report every line that cannot be imported, and import the others

  keyloom import apps/kitchen/model.toml --dynamodb kitchen --region eu-central-1 kitchen.jsonl
      Import into a DynamoDB table, with the credentials of the environment or ~/.aws";

fn describe(command: clap::Command) -> clap::Command {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let command = command
        .about("Import entities from JSON Lines")
        .arg(ModelFile::argument())
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Input file [default: stdin]"),
        )
        .arg(flag("keep-going").help("Continue after lines that cannot be imported"))
        .arg(flag("replace").help("Overwrite existing entities that differ"))
        .arg(json_argument())
        .after_help(EXAMPLES);
    data::arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let model = ModelFile::from_arguments(arguments)?.text;
    let (lines, bytes) = source(arguments.get_one::<PathBuf>("file").map(PathBuf::as_path))?;
    let on_problem =
        if arguments.get_flag("keep-going") { OnProblem::GoOn } else { OnProblem::Stop };
    let import = Import { model, replace: arguments.get_flag("replace"), on_problem, bytes };
    let mut bar = ProgressBar::new("entities");
    let summary =
        call(arguments, import, Some(lines), &mut |update| bar.handle(update, write_stdout))?;
    drop(bar);
    write_stdout(&format_summary(&summary, arguments.get_flag("json"))?)?;
    outcome(&summary)
}

fn format_summary(summary: &Summary, is_json: bool) -> Result<String, String> {
    if is_json {
        return serde_json::to_string(summary).map(|json| json + "\n").map_err(|e| e.to_string());
    }
    let Summary { created, unchanged, replaced, not_imported, .. } = summary;
    let [created, unchanged, replaced, not_imported] =
        [created, unchanged, replaced, not_imported].map(|count| grouped(*count));
    Ok(format!(
        "{created} created, {unchanged} unchanged, {replaced} replaced, {not_imported} not \
         imported.\n"
    ))
}

/// Fails if a line was not imported.
pub(crate) fn outcome(summary: &Summary) -> Result<(), String> {
    match summary.not_imported {
        0 => Ok(()),
        1 => Err("1 line was not imported, see above.".to_owned()),
        lines => Err(format!("{} lines were not imported, see above.", grouped(lines))),
    }
}

/// The input, and its size if known.
fn source(path: Option<&Path>) -> Result<(Input, Option<u64>), String> {
    let Some(path) = path else {
        return Ok((Box::new(BufReader::new(std::io::stdin())), None));
    };
    let failed = |error| format!("{} cannot be read: {error}.", path.display());
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let bytes = metadata.is_file().then_some(metadata.len());
    Ok((Box::new(BufReader::with_capacity(1 << 20, file)), bytes))
}
