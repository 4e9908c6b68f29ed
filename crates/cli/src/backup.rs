//! `keyloom backup`: copies a data directory into another one.

use clap::ArgMatches;
use keyloom_app::operations::{Backup, call};

use crate::command::{Command, absolute, json_argument, say};
use crate::copy::{target, target_argument, told};
use crate::model_file::data_argument;
use crate::progress::ProgressBar;

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
        .arg(data_argument("Data directory; a server that has it open runs the command"))
        .arg(target_argument())
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let to = absolute(target(arguments)?)?;
    let mut bar = ProgressBar::new("rows");
    let copied = call(arguments, Backup { to }, None, &mut |told| bar.hear(told, say))?;
    drop(bar);
    say(&told(copied, arguments.get_flag("json")))
}
