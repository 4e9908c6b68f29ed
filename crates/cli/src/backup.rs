//! `keyloom backup`: copies a data directory, whole or incrementally, or a table in DynamoDB.

use std::path::PathBuf;

use clap::{Arg, ArgGroup, ArgMatches, value_parser};
use keyloom::{Item, Value, item_to_json};
use keyloom_app::operations::{Backup, CopyDatabase, Place, STREAMS, ServiceBackup, call};
use keyloom_app::source;

use crate::command::{Command, absolute, json_argument, write_stdout};
use crate::copied::{format_copied, target};
use crate::copy::{remote_options, run_copy};
use crate::progress::ProgressBar;

pub(crate) const COMMAND: Command = Command { name: "backup", describe, run };

const EXAMPLES: &str = "\
A backup is a data directory and can be opened like any other. If you want to restore from it later, do
not write to it: a backup with writes of its own no longer matches the log of the original.

A backup of a DynamoDB table is a copy of it, as `keyloom copy` makes, and is restored by copying it back.
Stop all writers first, because DynamoDB has no snapshots. With --service, DynamoDB makes and keeps the
backup itself, while the table is in use; its own tools restore it. For continuous backups, enable
point-in-time recovery of the table there.

Examples:
  keyloom backup --data ./data --to ./backup-monday
      Copy everything

  keyloom backup --data ./data --to ./tuesday --since ./backup-monday
      Copy what was written since Monday; the log of ./data must reach back that far

  keyloom restore --from ./backup-monday --to ./again
      Restore the backup; `keyloom restore --help` shows point-in-time restore

  keyloom backup --dynamodb tasks --to monday.keyloom
      Copy a table into a file; `keyloom copy --from monday.keyloom --to dynamodb:again` restores it

  keyloom backup --dynamodb tasks --service monday
      Let DynamoDB back up the table and its access tokens";

fn describe(command: clap::Command) -> clap::Command {
    let command = command
        .about("Back up a data directory or a DynamoDB table")
        .arg(Arg::new("to").long("to").value_name("DIR").value_parser(value_parser!(PathBuf)).help(
            "Directory to create; it must be empty or not exist. Of a table, also FILE.keyloom",
        ))
        .arg(
            Arg::new("since")
                .long("since")
                .value_name("BACKUP")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("dynamodb")
                .help("Copy only what was written since this full or incremental backup"),
        )
        .arg(
            Arg::new("service")
                .long("service")
                .value_name("NAME")
                .requires("dynamodb")
                .help("Let DynamoDB make and keep a backup with this name"),
        )
        .group(ArgGroup::new("target").args(["to", "service"]).required(true))
        .arg(json_argument())
        .after_help(EXAMPLES);
    source::arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let is_json = arguments.get_flag("json");
    if let Some(table) = arguments.get_one::<String>("dynamodb") {
        return of_table(table, arguments, is_json);
    }
    let to = absolute(target(arguments)?)?;
    let since = arguments.get_one::<PathBuf>("since").map(|since| absolute(since)).transpose()?;
    let mut bar = ProgressBar::new("rows");
    let copied = call(arguments, Backup { to, since }, None, &mut |update| {
        bar.handle(update, write_stdout)
    })?;
    drop(bar);
    write_stdout(&format_copied(copied, is_json))
}

/// Backs up a table in DynamoDB.
fn of_table(table: &str, arguments: &ArgMatches, is_json: bool) -> Result<(), String> {
    let (table, remote) = (table.to_owned(), remote_options(arguments));
    if let Some(name) = arguments.get_one::<String>("service").cloned() {
        let backups = ServiceBackup { table, name, remote }.run()?;
        return write_stdout(&format_service(&backups, is_json));
    }
    let Ok(to) = target(arguments)?.display().to_string().parse::<Place>();
    if let Place::DynamoDb(_) = to {
        return Err("a backup is a directory or a file: use `keyloom copy` for a table.".to_owned());
    }
    run_copy(&CopyDatabase { from: Place::DynamoDb(table), to, remote, streams: STREAMS }, is_json)
}

fn format_service(backups: &[String], is_json: bool) -> String {
    if is_json {
        let all = backups.iter().map(|backup| Value::from(backup.as_str())).collect();
        return item_to_json(&Item::from([("backups", Value::L(all))])) + "\n";
    }
    backups.iter().map(|backup| format!("{backup}\n")).collect()
}
