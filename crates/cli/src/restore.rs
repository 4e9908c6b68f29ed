//! `keyloom restore`: creates a data directory from a backup, optionally at a point in time.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom_app::operations::{Progress, create};
use keyloom_store::{Engine, Moment, Options, Restore};

use crate::command::{Command, json_argument, time, write_stdout};
use crate::copied::{format_copied, target, target_argument};
use crate::progress::ProgressBar;

pub(crate) const COMMAND: Command = Command { name: "restore", describe, run };

const EXAMPLES: &str = "\
A backup holds the state at the time it was made. With the log of the original data directory you can
restore any later point in time that the log covers.

Examples:
  keyloom restore --from ./backup-monday --to ./again
      Restore the backup as it is

  keyloom restore --from ./backup-monday --log ./data --to ./again
      Restore everything up to now; only the log of ./data is read

  keyloom restore --from ./backup-monday --log ./tuesday --log ./wednesday --to ./again
      Restore with incremental backups (`keyloom backup --since`)

  keyloom restore --from ./backup-monday --log ./data --to ./before --until 2026-03-01T11:59:00Z
      Restore to a point in time";

fn describe(command: clap::Command) -> clap::Command {
    let directory = |name: &'static str| {
        Arg::new(name).long(name).value_name("DIR").value_parser(value_parser!(PathBuf))
    };
    command
        .about("Restore a backup, optionally to a point in time")
        .arg(directory("from").required(true).help("Backup directory"))
        .arg(directory("log").action(ArgAction::Append).help(
            "Incremental backup to apply, or data directory whose log to apply;\n\
             repeatable, in order",
        ))
        .arg(target_argument())
        .arg(
            Arg::new("until")
                .long("until")
                .value_name("TIME")
                .value_parser(moment)
                .help("Point in time to restore, such as 2026-03-01T11:59:00Z [default: latest]"),
        )
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let target = target(arguments)?;
    let path = |name| arguments.get_one::<PathBuf>(name);
    let backup = path("from").ok_or("name a backup with --from.")?.clone();
    let to = arguments.get_one::<Moment>("until").copied().unwrap_or(Moment::Latest);
    let logs = arguments.get_many::<PathBuf>("log").unwrap_or_default().cloned().collect();
    let mut bar = ProgressBar::new("rows");
    let restored = create(target, |target| {
        let restore = Restore { backup, logs, to, target: target.to_owned() };
        Engine::restore(&restore, &Options::default(), &mut |copied| {
            bar.show(Progress { count: copied.rows, ..Progress::default() });
            ControlFlow::Continue(())
        })
    })?;
    drop(bar);
    write_stdout(&format_copied(restored.into(), arguments.get_flag("json")))
}

fn moment(text: &str) -> Result<Moment, String> {
    time(text)
        .map(Moment::Time)
        .ok_or_else(|| "expected a time since 1970 such as `2026-03-01T11:59:00Z`".to_owned())
}
