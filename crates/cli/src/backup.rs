//! `keyloom backup`: copies a data directory into another one.

use clap::ArgMatches;
use keyloom_app::directory::{Use, close, open_existing};

use crate::command::{Command, json_argument, say};
use crate::copy::{Target, target_argument, told};
use crate::model_file::{data_argument, data_directory};
use crate::progress::{ProgressBar, Step};

pub(crate) const COMMAND: Command = Command { name: "backup", describe, run };

const EXAMPLES: &str = "\
A backup is a data directory and can be opened like any other. To restore from it later, do not write
to it: once written to, it is a database of its own.

Examples:
  keyloom backup --data ./data --to ./backup-monday
      Copy everything

  keyloom restore --from ./backup-monday --to ./again
      Restore the backup; `keyloom restore --help` shows point-in-time restore";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Copy a data directory")
        .arg(data_argument("Data directory; no other process may have it open"))
        .arg(target_argument())
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let target = Target::named(arguments)?;
    let engine = open_existing(data_directory(arguments)?, Use::Read)?;
    let mut bar = ProgressBar::new("rows");
    let copied = target.create(|target| {
        engine.backup(target, &mut |progress| {
            bar.show(Step { count: progress.rows, ..Step::default() });
        })
    })?;
    drop(bar);
    close(engine)?;
    say(&told(copied, arguments.get_flag("json")))
}
