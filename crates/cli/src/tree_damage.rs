//! A damaged tree of a data directory: finding out what is damaged, and rebuilding it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom::{Item, Value, item_to_json};
use keyloom_app::operations::Progress;
use keyloom_model::FieldType;
use keyloom_store::{Engine, Error, Options, Scrub, Scrubbed};

use crate::command::say;
use crate::progress::{ProgressBar, grouped};

/// The option that names a backup of the same store.
pub(crate) fn backup_argument(help: &'static str) -> Arg {
    Arg::new("from")
        .long("from")
        .value_name("BACKUP")
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

/// The backup that [`backup_argument`] names.
pub(crate) fn backup(arguments: &ArgMatches) -> Option<&Path> {
    arguments.get_one::<PathBuf>("from").map(PathBuf::as_path)
}

/// Rebuilds the tree of a directory if any of it is damaged, and reports that.
pub(crate) fn rebuild_if_damaged(
    directory: &Path,
    backup: Option<&Path>,
    is_json: bool,
) -> Result<(), String> {
    let found = find(directory).map_err(|error| error.to_string())?;
    if found.tree_damages == 0 {
        return Ok(());
    }
    let damages = summary(&found);
    if !is_json {
        let bytes = grouped(found.blocks_total * 4096);
        say(&format!(
            "{damages}\nRebuilding the tree; this needs about {bytes} bytes of free space.\n"
        ))?;
    }
    let mut bar = ProgressBar::new("rows");
    let rebuilt = Engine::rebuild(directory, backup, &Options::default(), &mut |progress| {
        bar.show(Progress { count: progress.rows, ..Progress::default() });
        ControlFlow::Continue(())
    });
    drop(bar);
    let rebuilt = rebuilt.map_err(|error| format!("{damages}\n{}", advice(&error)))?;
    if is_json {
        let (blocks, commit) = (found.tree_damages, rebuilt.commit);
        let item = [("damaged_blocks", blocks), ("rebuilt_to_commit", commit)];
        return say(
            &(item_to_json(&Item::from(item.map(|(name, n)| (name, Value::from(n))))) + "\n")
        );
    }
    say(&format!("Tree rebuilt, up to commit {}.\n", rebuilt.commit))
}

/// Adds to the error of a command what is damaged in the directory, if anything is.
pub(crate) fn explain(error: String, directory: &Path, repair: &str) -> String {
    match find(directory) {
        Ok(found) if found.tree_damages > 0 => {
            format!("{error}\n{}\nTo repair it: {repair}", summary(&found))
        }
        Ok(_) | Err(_) => error,
    }
}

fn find(directory: &Path) -> Result<Scrubbed, Error> {
    let mut bar = ProgressBar::new("blocks");
    Engine::scrub_directory(directory, &Scrub::Tree, &Options::default(), &mut |found| {
        let (blocks, total) = (found.blocks, found.blocks_total);
        bar.show(Progress { count: blocks, done: blocks, total: Some(total) });
        ControlFlow::Continue(())
    })
}

fn summary(found: &Scrubbed) -> String {
    let blocks = match found.tree_damages {
        1 => "1 damaged block".to_owned(),
        blocks => format!("{} damaged blocks", grouped(blocks)),
    };
    match found.damages.first() {
        Some(first) => {
            let (file, offset) = (first.file.display(), first.offset);
            format!("{blocks} in {file}, the first at byte {offset}.")
        }
        None => format!("{blocks}."),
    }
}

/// What to do if a tree cannot be rebuilt.
fn advice(error: &Error) -> String {
    let Error::BackupNeeded { since, .. } = error else { return error.to_string() };
    let since = FieldType::Time.show(&Value::from(since.0));
    let since = since.as_s().unwrap_or_default();
    format!(
        "{error} Give one made after {since} with --from BACKUP. Without such a backup, save what \
         can still be read with `keyloom export`, which stops at the first row that cannot be, and \
         import it into a new directory."
    )
}
