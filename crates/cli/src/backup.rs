//! `keyloom backup`: copies a data directory, whole or incrementally.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_app::operations::{Backup, call};

use crate::command::{Command, absolute, json_argument, write_stdout};
use crate::copy::{format_copied, target, target_argument};
use crate::model_file::data_argument;
use crate::progress::ProgressBar;

pub(crate) const COMMAND: Command = Command { name: "backup", describe, run };

const EXAMPLES: &str = "\
A backup is a data directory and can be opened like any other. If you want to restore from it later, do
not write to it: a backup with writes of its own no longer matches the log of the original.

Examples:
  keyloom backup --data ./data --to ./backup-monday
      Copy everything

  keyloom backup --data ./data --to ./tuesday --since ./backup-monday
      Copy what was written since Monday; the log of ./data must reach back that far

  keyloom restore --from ./backup-monday --to ./again
      Restore the backup; `keyloom restore --help` shows point-in-time restore";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Back up a data directory")
        .arg(data_argument("Data directory; a server that has it open runs the command"))
        .arg(target_argument())
        .arg(
            Arg::new("since")
                .long("since")
                .value_name("BACKUP")
                .value_parser(value_parser!(PathBuf))
                .help("Copy only what was written since this full or incremental backup"),
        )
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let to = absolute(target(arguments)?)?;
    let since = arguments.get_one::<PathBuf>("since").map(|since| absolute(since)).transpose()?;
    let mut bar = ProgressBar::new("rows");
    let copied = call(arguments, Backup { to, since }, None, &mut |update| {
        bar.handle(update, write_stdout)
    })?;
    drop(bar);
    write_stdout(&format_copied(copied, arguments.get_flag("json")))
}
