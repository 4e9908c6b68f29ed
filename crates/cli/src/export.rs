//! `keyloom export`: every entity of a database as a line of JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches};
use keyloom::Db;
use keyloom_app::directory::{Use, close, open_existing};

use crate::command::{Command, output_argument};
use crate::model_file::{ModelFile, block_on, data_argument, data_directory, database};
use crate::progress::{ProgressBar, Step};

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
        .arg(data_argument("Data directory; no other process may have it open"))
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
    let file = ModelFile::named(arguments)?;
    let engine = open_existing(data_directory(arguments)?, Use::Read)?;
    let kinds: Vec<&str> =
        arguments.get_many::<String>("entity").unwrap_or_default().map(String::as_str).collect();
    let output = arguments.get_one::<PathBuf>("output").map(PathBuf::as_path);
    block_on(async {
        let db = database(&file, &engine).await?;
        export(&db, &kinds, output).await
    })?;
    close(engine)
}

async fn export(db: &Db, kinds: &[&str], output: Option<&Path>) -> Result<(), String> {
    let mut export = db.export(kinds).await.map_err(|error| error.to_string())?;
    let mut lines = open_output(output)?;
    let mut bar = ProgressBar::new("entities");
    let mut count = 0;
    let failed = |error: std::io::Error| format!("the lines cannot be written: {error}.");
    while let Some(entries) = export.next().await.map_err(|error| error.to_string())? {
        for entry in &entries {
            writeln!(lines, "{}", entry.to_json()).map_err(failed)?;
        }
        count += entries.len() as u64;
        let progress = export.progress();
        bar.show(Step { count, done: progress.rows, total: Some(progress.rows_total) });
    }
    lines.flush().map_err(failed)
}

/// Standard output, or a file that was not there.
pub(crate) fn open_output(path: Option<&Path>) -> Result<Box<dyn Write>, String> {
    let Some(path) = path else { return Ok(Box::new(BufWriter::new(std::io::stdout()))) };
    let file = File::create_new(path).map_err(|error| {
        format!("{} cannot be made: {error}. Name a file that is not there.", path.display())
    })?;
    Ok(Box::new(BufWriter::new(file)))
}
