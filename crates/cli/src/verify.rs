//! `keyloom verify`: recomputes every derived row and compares it with what is stored.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches};
use keyloom::{Item, Value, item_to_json, json_to_item};
use keyloom_app::operations::{Verified, Verify, call};
use keyloom_app::{socket, source};

use crate::command::{Command, json_argument, write_stdout};
use crate::model_file::ModelFile;
use crate::progress::ProgressBar;
use crate::tree_damage::{Repair, backup, backup_argument, explain, repair_if_damaged};

pub(crate) const COMMAND: Command = Command { name: "verify", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom verify apps/kitchen/model.toml --data ./data
      Report every row that differs; exit with 1 if there is one, or if anything could not be checked

  keyloom verify apps/kitchen/model.toml --data ./data --repair
      Repair what can be repaired; exit with 1 if anything remains

  keyloom verify apps/kitchen/model.toml --data ./data --repair --from ./backup-monday
      Also rebuild a damaged tree from a backup and the log, if the log alone does not suffice

  keyloom verify apps/kitchen/model.toml --data ./data --repair --salvage
      Also salvage what can be read if the tree cannot be rebuilt: the log is too short and there is
      no backup. The rest is lost permanently, so copy the directory first

  keyloom verify apps/kitchen/model.toml --data ./data --json
      Print one JSON line for each difference and for what could not be checked, and a summary line

  keyloom verify apps/kitchen/model.toml --dynamodb kitchen --region eu-central-1
      Verify a DynamoDB table, with the credentials of the environment or ~/.aws. Counts and
      leaderboards are recounted with the stream of the table, so nobody has to stop writing";

fn describe(command: clap::Command) -> clap::Command {
    let command = command
        .about("Recompute every derived row and compare it with what is stored")
        .arg(ModelFile::argument())
        .arg(
            Arg::new("repair")
                .long("repair")
                .action(ArgAction::SetTrue)
                .help("Repair what can be repaired automatically"),
        )
        .arg(
            backup_argument("Backup to rebuild a damaged tree from, with the log since")
                .requires("repair")
                .conflicts_with("dynamodb"),
        )
        .arg(
            Arg::new("salvage")
                .long("salvage")
                .action(ArgAction::SetTrue)
                .requires("repair")
                .conflicts_with("dynamodb")
                .help(
                    "Keep the readable part of a damaged tree that cannot be rebuilt, drop the rest",
                ),
        )
        .arg(json_argument())
        .after_help(EXAMPLES);
    source::arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let model = ModelFile::from_arguments(arguments)?.text;
    let [repair, is_json] = ["repair", "json"].map(|flag| arguments.get_flag(flag));
    let directory = arguments.get_one::<PathBuf>("data").map(PathBuf::as_path);
    let is_served = directory.is_some_and(socket::is_served);
    let salvage = arguments.get_flag("salvage");
    if is_served && (backup(arguments).is_some() || salvage) {
        return Err("--from and --salvage need the directory to be closed: stop the server first."
            .to_owned());
    }
    let directory = directory.filter(|_| !is_served);
    if let (true, Some(directory)) = (repair, directory) {
        repair_if_damaged(directory, Repair { backup: backup(arguments), salvage, is_json })?;
    }
    let mut bar = ProgressBar::new("rows");
    let verified = call(arguments, Verify { model, repair }, None, &mut |update| {
        bar.handle(update, |finding| write_stdout(&format_finding(finding, is_json)))
    });
    let verified = verified.map_err(|error| match directory {
        Some(directory) => explain(error, directory, &repair_command(arguments, directory)),
        None => error,
    })?;
    drop(bar);
    write_stdout(&format_summary(verified, is_json))?;
    match (verified.left, verified.unchecked, repair) {
        (0, 0, _) => Ok(()),
        (0, _, _) => Err("not everything could be checked: see above.".to_owned()),
        (_, _, false) => {
            Err("stored rows differ from the model: see above, repair with --repair.".to_owned())
        }
        (_, _, true) => Err("some findings could not be repaired: see above.".to_owned()),
    }
}

/// The command that repairs the damage reported by this one.
fn repair_command(arguments: &ArgMatches, directory: &Path) -> String {
    let model = arguments.get_one::<PathBuf>("model").cloned().unwrap_or_default();
    let (model, directory) = (model.display(), directory.display());
    format!("keyloom verify {model} --data {directory} --repair [--from BACKUP]")
}

fn format_summary(verified: Verified, is_json: bool) -> String {
    let Verified { rows, repaired, left, unchecked } = verified;
    if is_json {
        let item =
            [("rows", rows), ("repaired", repaired), ("left", left), ("unchecked", unchecked)];
        return item_to_json(&Item::from(item.map(|(name, n)| (name, Value::from(n))))) + "\n";
    }
    let unchecked = match unchecked {
        0 => String::new(),
        unchecked => format!(", {unchecked} not checked"),
    };
    format!("{rows} rows verified: {repaired} repaired, {left} left{unchecked}.\n")
}

fn format_finding(finding: &str, is_json: bool) -> String {
    let item = json_to_item(finding.as_bytes()).ok().filter(|_| !is_json);
    let text = item.and_then(|item| item.get("message").and_then(Value::as_s).map(str::to_owned));
    text.unwrap_or_else(|| finding.to_owned()) + "\n"
}
