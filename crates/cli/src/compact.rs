//! `keyloom compact`: returns unused disk space of a data directory to the system.

use clap::ArgMatches;
use indicatif::BinaryBytes;
use keyloom::{Item, Value, item_to_json};
use keyloom_app::operations::{Compact, Compacted, Progress, Report, call};

use crate::command::{Command, json_argument, write_stdout};
use crate::model_file::data_argument;
use crate::progress::{ProgressBar, grouped};

pub(crate) const COMMAND: Command = Command { name: "compact", describe, run };

const EXAMPLES: &str = "\
Copies the rows into a new file without gaps and replaces the old file with it. Needs free disk space
for the copy. Interrupting it is safe: the data directory stays as it was.

A server compacts automatically when at least half of the file and 64 MiB are unused; `keyloom import`,
when it has loaded at least half of the data.

Examples:
  keyloom compact --data ./data
      Compact and print the size before and after

  keyloom compact --data ./data --json
      Print them as JSON, in bytes";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Reclaim unused disk space of a data directory")
        .arg(data_argument("Data directory; a server that has it open runs the command"))
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let mut bar = ProgressBar::new("rows");
    let mut needed = None;
    let compacted = call(arguments, Compact {}, None, &mut |update| {
        if let (Report::Progress(Progress { total: Some(total), .. }), None) = (&update, needed) {
            needed = Some(*total);
            let bytes = BinaryBytes(*total);
            bar.handle(
                Report::Problem(format!("Needs {bytes} of free disk space.")),
                write_stdout,
            )?;
        }
        bar.handle(update, write_stdout)
    })?;
    drop(bar);
    write_stdout(&report(compacted, arguments.get_flag("json")))
}

fn report(compacted: Compacted, is_json: bool) -> String {
    let Compacted { before_bytes, after_bytes, rows } = compacted;
    if is_json {
        let figures =
            [("before_bytes", before_bytes), ("after_bytes", after_bytes), ("rows", rows)];
        let figures = figures.map(|(name, figure)| (name, Value::from(figure)));
        return item_to_json(&Item::from(figures)) + "\n";
    }
    let (before, after) = (BinaryBytes(before_bytes), BinaryBytes(after_bytes));
    format!("{} rows: {before} before, {after} after.\n", grouped(rows))
}
