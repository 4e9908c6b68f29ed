//! `keyloom restore`: makes a data directory out of a backup, as it was at a moment.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_store::{Engine, Moment, Options, Restore};

use crate::command::{Command, json_argument, say, time};
use crate::copy::{Target, target_argument, told};
use crate::progress::{ProgressBar, Step};

pub(crate) const COMMAND: Command = Command { name: "restore", describe, run };

const EXAMPLES: &str = "\
A backup ends at the moment at which it was made. The log of the directory that it is of goes on
from there, for as long as that directory keeps it: with it, any moment since can be had.

Examples:
  keyloom restore --from ./backup-monday --to ./again
      What the backup has.

  keyloom restore --from ./backup-monday --log ./data --to ./again
      Everything up to now; ./data may be damaged in places other than its log.

  keyloom restore --from ./backup-monday --log ./data --to ./before --until 2026-03-01T11:59:00Z
      Everything up to that moment, and nothing after it.";

fn describe(command: clap::Command) -> clap::Command {
    let directory = |name: &'static str| {
        Arg::new(name).long(name).value_name("DIR").value_parser(value_parser!(PathBuf))
    };
    command
        .about("Make a data directory out of a backup, as it was at a moment")
        .arg(directory("from").required(true).help("The backup"))
        .arg(directory("log").help("The data directory whose log goes on where the backup ends"))
        .arg(target_argument())
        .arg(
            Arg::new("until")
                .long("until")
                .value_name("TIME")
                .value_parser(moment)
                .help("The last moment to restore, such as 2026-03-01T11:59:00Z"),
        )
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let target = Target::named(arguments)?;
    let path = |name| arguments.get_one::<PathBuf>(name);
    let backup = path("from").ok_or("name a backup with --from.")?.clone();
    let to = arguments.get_one::<Moment>("until").copied().unwrap_or(Moment::Latest);
    let log = path("log").cloned();
    let mut bar = ProgressBar::new("rows");
    let restored = target.create(|target| {
        let restore = Restore { backup, log, to, target: target.to_owned() };
        Engine::restore(&restore, &Options::default(), &mut |progress| {
            bar.show(Step { count: progress.rows, ..Step::default() });
        })
    })?;
    drop(bar);
    say(&told(restored, arguments.get_flag("json")))
}

fn moment(text: &str) -> Result<Moment, String> {
    time(text)
        .map(Moment::Time)
        .ok_or_else(|| "write a time since 1970 such as `2026-03-01T11:59:00Z`".to_owned())
}
