//! `keyloom compact`: returns unused space of a data directory to the system.

use std::io::Write;

use clap::ArgMatches;
use indicatif::BinaryBytes;
use keyloom::{Item, Value, item_to_json};
use keyloom_app::directory::close;
use keyloom_store::{Compaction, Engine, Options};

use crate::command::{Command, json_argument, say};
use crate::model_file::{data_argument, data_directory};
use crate::progress::{ProgressBar, Step, grouped};

pub(crate) const COMMAND: Command = Command { name: "compact", describe, run };

const EXAMPLES: &str = "\
Copies the rows into a new file without gaps and replaces the old file with it. Needs free disk space
for the copy. Interrupting it is safe: the data directory stays as it was.

A server compacts by itself when at least half of the file and 64 MiB are unused.

Examples:
  keyloom compact --data ./data
      Compact and print the size before and after

  keyloom compact --data ./data --json
      Print them as JSON, in bytes";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Return unused disk space of a data directory")
        .arg(data_argument("Data directory; no other process may have it open"))
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    // None starts by itself: its result would not be reported.
    let options = Options { compact_from_bytes: u64::MAX, ..Options::default() };
    let engine = Engine::open_existing(data_directory(arguments)?, options);
    let engine = engine.map_err(|error| error.to_string())?;
    let mut bar = ProgressBar::new("rows");
    let mut is_first = true;
    let compacted = engine.compact(&mut |step| {
        if std::mem::take(&mut is_first) {
            let needed = BinaryBytes(step.needed_bytes);
            // That nobody sees it is no reason to stop.
            let _ = bar.aside(|| writeln!(std::io::stderr(), "Needs {needed} of free disk space."));
        }
        let (count, done) = (step.rows, step.copied_bytes);
        bar.show(Step { count, done, total: Some(step.needed_bytes) });
    });
    drop(bar);
    let compacted = compacted.map_err(|error| format!("{error}. Nothing was changed."))?;
    close(engine.into())?;
    say(&report(compacted, arguments.get_flag("json")))
}

fn report(compacted: Compaction, is_json: bool) -> String {
    let Compaction { before_bytes, after_bytes, rows, .. } = compacted;
    if is_json {
        let figures =
            [("before_bytes", before_bytes), ("after_bytes", after_bytes), ("rows", rows)];
        let figures = figures.map(|(name, figure)| (name, Value::from(figure)));
        return item_to_json(&Item::from(figures)) + "\n";
    }
    let (before, after) = (BinaryBytes(before_bytes), BinaryBytes(after_bytes));
    format!("{} rows: {before} before, {after} after.\n", grouped(rows))
}
