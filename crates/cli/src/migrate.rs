//! `keyloom migrate`: changes the model of existing data, or shows what that would do.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, ArgMatches};
use keyloom_app::operations::{Migrate, Migration, call};
use keyloom_app::source;

use crate::command::{Command, json_argument, write_stdout};
use crate::model_file::ModelFile;
use crate::progress::{ProgressBar, grouped};

pub(crate) const COMMAND: Command = Command { name: "migrate", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom migrate model.toml --data ./data --plan
      Print what would change, which values would be lost, how much is rewritten, and which queries
      wait for that; exit with 1 if the data does not allow it. Nothing is written

  keyloom migrate model.toml --data ./data
      Change the model, and rewrite the data. Run it again after an interruption: it goes on

  keyloom migrate model.toml --dynamodb tasks --region eu-central-1
      Change the model of a table that other processes use meanwhile

While a server has the directory open, it makes the change, and answers requests meanwhile. Start it with
the new model file the next time. A server does the same when it is told to read its own model file again,
with SIGHUP.
\"Changing a model\" in docs/model.md says which changes are possible.";

fn describe(command: clap::Command) -> clap::Command {
    let plan = Arg::new("plan").long("plan").action(ArgAction::SetTrue);
    let command = command
        .about("Change the model of existing data")
        .arg(ModelFile::argument())
        .arg(plan.help("Only print what would be done"))
        .arg(json_argument())
        .after_help(EXAMPLES);
    source::arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let model = ModelFile::from_arguments(arguments)?.text;
    let [plan, is_json] = ["plan", "json"].map(|flag| arguments.get_flag(flag));
    let mut bar = ProgressBar::new("rows");
    let migration = call(arguments, Migrate { model, plan }, None, &mut |update| {
        bar.handle(update, write_stdout)
    })?;
    drop(bar);
    if is_json {
        let json = serde_json::to_string(&migration).map_err(|error| error.to_string())?;
        write_stdout(&(json + "\n"))?;
    } else {
        write_stdout(&report(&migration))?;
    }
    match migration.refusals.is_empty() {
        true => Ok(()),
        false => Err("the data does not allow this change: see above.".to_owned()),
    }
}

fn report(migration: &Migration) -> String {
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{title}:\n  {}", lines.join("\n").replace('\n', "\n  "));
        }
    };
    section("Refused", migration.refusals.clone());
    section("Changes", migration.changes.clone());
    let lost = migration.lost.iter();
    section("Lost", lost.map(|(field, count)| values(field, *count)).collect());
    let rewritten = migration.rewritten.iter();
    section("Rewritten", rewritten.map(|(entity, count)| entities(entity, *count)).collect());
    section("Unavailable until all is rewritten", migration.unavailable.clone());
    let _ = match (migration.done, migration.rewritten.is_empty()) {
        (true, _) if migration.is_served => writeln!(
            text,
            "Done. The server serves the changed model; start it with this model file the next time."
        ),
        (true, _) => writeln!(text, "Done."),
        (false, true) => writeln!(text, "Nothing is rewritten."),
        (false, false) => writeln!(
            text,
            "Reads {} rows and writes at most {}.",
            grouped(migration.rows),
            grouped(migration.rows_max)
        ),
    };
    text
}

fn values(field: &str, count: u64) -> String {
    format!("the values of `{field}` in {} entities", grouped(count))
}

fn entities(entity: &str, count: u64) -> String {
    match count {
        0 => format!("what is left of `{entity}`"),
        count => format!("`{entity}`: {} entities", grouped(count)),
    }
}
