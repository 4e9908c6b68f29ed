//! `keyloom scrub`: verifies the files of a data directory.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom::{Item, Value, item_to_json};
use keyloom_app::operations::{CompareRows, Found, Scrub, Scrubbed, call};
use keyloom_app::socket;
use keyloom_store::{Engine, Options};

use crate::command::{Command, absolute, json_argument, write_stdout};
use crate::model_file::data_argument;
use crate::progress::{ProgressBar, grouped};
use crate::tree_damage::{backup, backup_argument};

pub(crate) const COMMAND: Command = Command { name: "scrub", describe, run };

const EXAMPLES: &str = "\
Nothing is changed. To repair a damaged tree, run `keyloom verify MODEL --data DIR --repair`.

Examples:
  keyloom scrub --data ./data
      Verify every block of the tree and every frame of the log; exit with 1 on damage

  keyloom scrub --data ./data --deep
      Also rebuild the tree from the log and compare every row; the log must be complete

  keyloom scrub --data ./data --from ./backup-monday --scratch /var/tmp/scrub
      Compare every row with a rebuild from a backup and the log

  keyloom scrub --data ./data --json
      Print one JSON line for each finding, and a summary line";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Verify the checksums of a data directory, or every row of it")
        .arg(data_argument("Data directory; a server that has it open runs the command"))
        .arg(
            Arg::new("deep")
                .long("deep")
                .action(ArgAction::SetTrue)
                .help("Compare every row with a rebuild from the log"),
        )
        .arg(backup_argument("Backup to rebuild from, with the log since; implies --deep"))
        .arg(
            Arg::new("scratch")
                .long("scratch")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Directory to rebuild in, with space for the tree [default: temporary]"),
        )
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let directory = arguments.get_one::<PathBuf>("data").ok_or("give --data.")?;
    let is_json = arguments.get_flag("json");
    let is_deep = arguments.get_flag("deep") || backup(arguments).is_some();
    let scratch = is_deep.then(|| Scratch::from_arguments(arguments)).transpose()?;
    let compared = |scratch: &Scratch| {
        let backup = backup(arguments).map(absolute).transpose()?;
        Ok::<_, String>(CompareRows { backup, scratch: scratch.path.clone() })
    };
    let rows = scratch.as_ref().map(compared).transpose()?;
    let found = scrub(arguments, directory, Scrub { rows })?;
    drop(scratch);
    for damage in &found.damages {
        write_stdout(&format_damage(damage, is_json))?;
    }
    write_stdout(&format_summary(&found, is_json))?;
    if found.findings == 0 {
        return Ok(());
    }
    let name = directory.display();
    Err(match found.tree_damages {
        0 => format!("{name} is damaged, see above."),
        _ => format!(
            "{name} is damaged, see above. To repair the tree: \
             keyloom verify MODEL --data {name} --repair [--from BACKUP]"
        ),
    })
}

/// Runs in the server that has the directory open, or here: then even on a directory too damaged
/// to open.
fn scrub(arguments: &ArgMatches, directory: &Path, scrub: Scrub) -> Result<Scrubbed, String> {
    let mut bar = ProgressBar::new("blocks and rows");
    if socket::is_served(directory) {
        return call(arguments, scrub, None, &mut |update| bar.handle(update, write_stdout));
    }
    let (level, options) = (scrub.level(), Options::default());
    let found = Engine::scrub_directory(directory, &level, &options, &mut |found| {
        bar.show(found.into());
        ControlFlow::Continue(())
    });
    found.map(Scrubbed::from).map_err(|error| error.to_string())
}

/// The directory of the tree to compare with, removed after the scrub unless it existed before.
struct Scratch {
    path: PathBuf,
    existed: bool,
}

impl Scratch {
    fn from_arguments(arguments: &ArgMatches) -> Result<Scratch, String> {
        let default = || std::env::temp_dir().join(format!("keyloom-scrub-{}", std::process::id()));
        let path = arguments.get_one::<PathBuf>("scratch").cloned().unwrap_or_else(default);
        let existed = path.exists();
        Ok(Scratch { path: absolute(&path)?, existed })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.existed {
            // `remove_dir` fails on a directory that is not empty, and so deletes nothing else.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn format_damage(damage: &Found, is_json: bool) -> String {
    if !is_json {
        let Found { file, offset, what } = damage;
        return format!("{} is damaged at byte {offset}: {what}.\n", file.display());
    }
    let item = Item::from([
        ("file", Value::from(damage.file.display().to_string())),
        ("offset", Value::from(damage.offset)),
        ("what", Value::from(damage.what.as_str())),
    ]);
    item_to_json(&item) + "\n"
}

fn format_summary(found: &Scrubbed, is_json: bool) -> String {
    let Scrubbed { blocks, frames, rows, findings, .. } = *found;
    if is_json {
        let item = [("blocks", blocks), ("frames", frames), ("rows", rows), ("findings", findings)];
        return item_to_json(&Item::from(item.map(|(name, n)| (name, Value::from(n))))) + "\n";
    }
    let [blocks, frames, rows, findings] = [blocks, frames, rows, findings].map(grouped);
    format!("{blocks} blocks, {frames} log frames and {rows} rows verified: {findings} findings.\n")
}
