//! `keyloom verify`: computes every row of a database anew and compares.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches};
use keyloom::{Db, Finding, Item, Remedy, Repair, Value, item_to_json};
use keyloom_app::directory::Use;
use keyloom_app::place;

use crate::command::{Command, json_argument, say};
use crate::model_file::{ModelFile, block_on};
use crate::progress::{ProgressBar, Step};
use crate::tree_damage::{backup, backup_argument, explain, rebuild_if_damaged};

pub(crate) const COMMAND: Command = Command { name: "verify", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom verify apps/kitchen/model.toml --data ./data
      Report every row that differs; exit with 1 if there is one

  keyloom verify apps/kitchen/model.toml --data ./data --repair
      Repair what can be repaired; exit with 1 if anything remains

  keyloom verify apps/kitchen/model.toml --data ./data --repair --from ./backup-monday
      Also rebuild a damaged tree from a backup and the log, if the log alone does not suffice

  keyloom verify apps/kitchen/model.toml --data ./data --json
      Print one JSON line for each difference, and a summary line

  keyloom verify apps/kitchen/model.toml --dynamodb kitchen --region eu-central-1
      Verify a DynamoDB table, with the credentials of the environment or ~/.aws";

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
        .arg(json_argument())
        .after_help(EXAMPLES);
    place::arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let file = ModelFile::named(arguments)?;
    let repair = if arguments.get_flag("repair") { Repair::Yes } else { Repair::No };
    let is_json = arguments.get_flag("json");
    let directory = arguments.get_one::<PathBuf>("data");
    if let (Repair::Yes, Some(directory)) = (repair, directory) {
        rebuild_if_damaged(directory, backup(arguments), is_json)?;
    }
    let verified = block_on(async {
        let used = if repair == Repair::Yes { Use::Change } else { Use::Read };
        let db = place::open(arguments, used).await?.database(&file.text).await?;
        verify(&db, repair, is_json).await
    });
    let verified = verified.map_err(|error| match directory {
        Some(directory) => explain(error, directory, &repair_command(arguments, directory)),
        None => error,
    })?;
    say(&verified.told(is_json))?;
    match (verified.left, repair) {
        (0, _) => Ok(()),
        (_, Repair::No) => {
            Err("rows differ from what the model says: see above, or --repair.".to_owned())
        }
        (_, Repair::Yes) => {
            Err("something is left that could not be mended: see above.".to_owned())
        }
    }
}

/// The command that repairs what this one reports.
fn repair_command(arguments: &ArgMatches, directory: &Path) -> String {
    let model = arguments.get_one::<PathBuf>("model").cloned().unwrap_or_default();
    let (model, directory) = (model.display(), directory.display());
    format!("keyloom verify {model} --data {directory} --repair [--from BACKUP]")
}

#[derive(Default)]
struct Verified {
    rows: u64,
    mended: u64,
    left: u64,
}

impl Verified {
    fn told(&self, is_json: bool) -> String {
        let Verified { rows, mended, left } = *self;
        if is_json {
            let item = [("rows", rows), ("mended", mended), ("left", left)];
            return item_to_json(&Item::from(item.map(|(name, n)| (name, Value::from(n))))) + "\n";
        }
        format!("{rows} rows verified: {mended} mended, {left} left.\n")
    }
}

async fn verify(db: &Db, repair: Repair, is_json: bool) -> Result<Verified, String> {
    let mut bar = ProgressBar::new("rows");
    let (mut from, mut verified) = (None::<String>, Verified::default());
    loop {
        let page = db.verify_page(repair, from.as_deref()).await;
        let page = page.map_err(|error| error.to_string())?;
        for finding in &page.findings {
            bar.aside(|| say(&told(finding, is_json)))?;
            match finding.remedy {
                Remedy::Mended => verified.mended += 1,
                Remedy::NotAsked | Remedy::NeedsPerson | Remedy::Changed => verified.left += 1,
            }
        }
        let (rows, total) = (page.progress.rows, page.progress.rows_total);
        bar.show(Step { count: rows, done: rows, total: Some(total) });
        verified.rows = rows.max(verified.rows);
        match page.next {
            None => return Ok(verified),
            next => from = next,
        }
    }
}

fn told(finding: &Finding, is_json: bool) -> String {
    if !is_json {
        return format!("{finding}\n");
    }
    let remedy = match finding.remedy {
        Remedy::Mended => "mended",
        Remedy::NotAsked => "not asked",
        Remedy::NeedsPerson => "needs a person",
        Remedy::Changed => "changed meanwhile",
    };
    let item = Item::from([
        ("entity", Value::from(finding.entity.as_str())),
        ("id", Value::from(finding.id.as_str())),
        ("remedy", Value::from(remedy)),
        ("said", Value::from(finding.to_string())),
    ]);
    item_to_json(&item) + "\n"
}
