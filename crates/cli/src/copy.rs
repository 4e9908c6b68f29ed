//! `keyloom copy`: copies a database between a data directory, DynamoDB and a file.

use std::convert::Infallible;
use std::io::Write;

use clap::{Arg, ArgMatches, value_parser};
use keyloom::copy::{CopyProgress, CopyStep};
use keyloom::{Item, Value, item_to_json};
use keyloom_app::operations::{CopyDatabase, CopyReport, CopySummary, Place, Progress, STREAMS};
use keyloom_dynamodb::RemoteOptions;

use crate::command::{Command, json_argument, write_stdout};
use crate::progress::{ProgressBar, grouped};

pub(crate) const COMMAND: Command = Command { name: "copy", describe, run };

/// A copy waits longer for a service that has no capacity left than a request does: about five minutes.
const ATTEMPTS_MAX: u32 = 70;

const EXAMPLES: &str = "\
A place is one of
  DIR               a data directory that no server has open; a target is created if missing
  FILE.keyloom      a file of JSON lines; a target must not exist
  dynamodb:TABLE    a DynamoDB table; a target is created if missing

The copy has the same entities with their versions and their order of creation, jobs, idempotency records,
access tokens, and accepts the same cursors. Indexes, counters and posting lists are derived again. In the
end, source and target are compared and the target is verified; until then it cannot be served. The same
command continues a copy that was interrupted. docs/copying.md has the details.

Examples:
  keyloom copy --from ./data --to dynamodb:tasks --region eu-central-1
      Move to DynamoDB

  keyloom copy --from dynamodb:tasks --to ./data --region eu-central-1
      Move back; stop all writers first, because DynamoDB has no snapshots

  keyloom backup --data ./data --to ./frozen && keyloom copy --from ./frozen --to dynamodb:staging
      Copy a database while it is being served

  keyloom copy --from ./data --to tasks.keyloom
      Copy into one file, for archives or another machine

  keyloom copy --from dynamodb:tasks --to ./data --endpoint-url http://127.0.0.1:8000
      Use another server with DynamoDB's protocol";

fn describe(command: clap::Command) -> clap::Command {
    let place = |name: &'static str, help: &'static str| {
        let arg = Arg::new(name).long(name).value_name("PLACE").required(true);
        arg.value_parser(read_place).help(help)
    };
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    command
        .about("Copy a database between a directory, DynamoDB and a file")
        .arg(place("from", "Database to copy: DIR, FILE.keyloom or dynamodb:TABLE"))
        .arg(place(
            "to",
            "Where to copy it; empty, missing, or an unfinished copy of the same database",
        ))
        .arg(
            Arg::new("streams")
                .long("streams")
                .value_name("COUNT")
                .value_parser(value_parser!(u32).range(1..=64))
                .help(format!("Parts to copy at the same time [default: {STREAMS}]")),
        )
        .arg(text("endpoint-url", "URL", "DynamoDB endpoint [default: that of the region]"))
        .arg(text("region", "REGION", "AWS region [default: from the environment or profile]"))
        .arg(text("profile", "NAME", "AWS profile to use"))
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn read_place(text: &str) -> Result<Place, Infallible> {
    text.parse()
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let place = |name: &str| arguments.get_one::<Place>(name).cloned();
    let copy = CopyDatabase {
        from: place("from").ok_or("name a database with --from.")?,
        to: place("to").ok_or("name a target with --to.")?,
        remote: remote_options(arguments),
        streams: arguments.get_one::<u32>("streams").copied().unwrap_or(STREAMS),
    };
    run_copy(&copy, arguments.get_flag("json"))
}

/// Runs a copy, with its progress on stderr, and prints what was copied.
pub(crate) fn run_copy(copy: &CopyDatabase, is_json: bool) -> Result<(), String> {
    let mut bar = StepBar::default();
    let summary = copy.run(&mut |report| bar.show(report))?;
    drop(bar);
    write_stdout(&format_summary(&summary, is_json))
}

/// How the arguments reach DynamoDB.
pub(crate) fn remote_options(arguments: &ArgMatches) -> RemoteOptions {
    let text = |name| arguments.get_one::<String>(name).cloned();
    RemoteOptions {
        region: text("region"),
        profile: text("profile"),
        endpoint: text("endpoint-url"),
        attempts_max: ATTEMPTS_MAX,
        ..RemoteOptions::default()
    }
}

/// A progress bar for each step.
#[derive(Default)]
struct StepBar(Option<(CopyStep, ProgressBar)>);

impl StepBar {
    fn show(&mut self, report: CopyReport) {
        match report {
            CopyReport::Progress(progress) => self.bar(progress.step).show(converted(progress)),
            // A closed stderr must not stop the copy.
            CopyReport::Warning(warning) => {
                drop(writeln!(std::io::stderr(), "keyloom copy: {warning}"))
            }
        }
    }

    fn bar(&mut self, step: CopyStep) -> &mut ProgressBar {
        if self.0.as_ref().is_none_or(|(shown, _)| *shown != step) {
            self.0 = None;
        }
        let unit = match step {
            CopyStep::Copying => "rows copied",
            CopyStep::Deriving => "rows summed up",
            CopyStep::Comparing => "rows compared",
            CopyStep::Verifying => "rows verified",
            _ => "rows",
        };
        &mut self.0.get_or_insert_with(|| (step, ProgressBar::new(unit))).1
    }
}

fn converted(progress: CopyProgress) -> Progress {
    Progress { count: progress.rows, done: progress.done, total: progress.total }
}

fn format_summary(summary: &CopySummary, is_json: bool) -> String {
    let CopySummary { entities, kinds, tokens } = summary;
    if is_json {
        let kinds: Item =
            kinds.iter().map(|(kind, rows)| (kind.as_str().into(), (*rows).into())).collect();
        let item = Item::from([
            ("entities", Value::from(*entities)),
            ("tokens", Value::from(*tokens)),
            ("rows", Value::M(kinds)),
        ]);
        return item_to_json(&item) + "\n";
    }
    let kinds = kinds.iter().map(|(kind, rows)| format!("  {} {kind}\n", grouped(*rows)));
    format!(
        "{} entities and {} tokens copied; source and target are equal, and the target is verified.\n{}",
        grouped(*entities),
        grouped(*tokens),
        kinds.collect::<String>()
    )
}
