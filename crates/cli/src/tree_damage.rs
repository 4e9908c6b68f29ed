//! Finding and repairing damage in the tree of a data directory.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom::{Item, Value, item_to_json};
use keyloom_app::operations::Progress;
use keyloom_model::FieldType;
use keyloom_store::{Engine, Error, Options, Salvaged, Scrub, Scrubbed};

use crate::command::write_stdout;
use crate::progress::{ProgressBar, grouped};

/// `--from`, a backup of the same store.
pub(crate) fn backup_argument(help: &'static str) -> Arg {
    Arg::new("from")
        .long("from")
        .value_name("BACKUP")
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

/// The value of [`backup_argument`].
pub(crate) fn backup(arguments: &ArgMatches) -> Option<&Path> {
    arguments.get_one::<PathBuf>("from").map(PathBuf::as_path)
}

/// How to repair a damaged tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repair<'a> {
    /// The backup to rebuild from, with the log since; without one, the log alone.
    pub(crate) backup: Option<&'a Path>,
    /// Whether to keep the readable part if the tree cannot be rebuilt.
    pub(crate) salvage: bool,
    pub(crate) is_json: bool,
}

/// Repairs the tree of a directory if it is damaged, and reports the result.
pub(crate) fn repair_if_damaged(directory: &Path, repair: Repair<'_>) -> Result<(), String> {
    let Repair { backup, salvage, is_json } = repair;
    let found = find(directory).map_err(|error| error.to_string())?;
    if found.tree_damages == 0 {
        return Ok(());
    }
    let damages = summary(&found);
    if !is_json {
        let bytes = grouped(found.blocks_total * 4096);
        write_stdout(&format!(
            "{damages}\nRebuilding the tree; this needs about {bytes} bytes of free space.\n"
        ))?;
    }
    let mut bar = ProgressBar::new("rows");
    let rebuilt = Engine::rebuild(directory, backup, &Options::default(), &mut |progress| {
        bar.show(Progress { count: progress.rows, ..Progress::default() });
        ControlFlow::Continue(())
    });
    drop(bar);
    let rebuilt = match rebuilt {
        Err(error @ (Error::BackupNeeded { .. } | Error::Damaged(_))) if salvage => {
            return salvage_tree(directory, &error, is_json)
                .map_err(|error| format!("{damages}\n{error}"));
        }
        rebuilt => rebuilt.map_err(|error| format!("{damages}\n{}", advice(&error)))?,
    };
    if is_json {
        let (blocks, commit) = (found.tree_damages, rebuilt.commit);
        let item = [("damaged_blocks", blocks), ("rebuilt_to_commit", commit)];
        return write_stdout(
            &(item_to_json(&Item::from(item.map(|(name, n)| (name, Value::from(n))))) + "\n"),
        );
    }
    write_stdout(&format!("Tree rebuilt, up to commit {}.\n", rebuilt.commit))
}

/// Keeps the readable part of a tree that cannot be rebuilt, and reports the losses.
fn salvage_tree(directory: &Path, cause: &Error, is_json: bool) -> Result<(), String> {
    if !is_json {
        write_stdout(&format!("{cause}\nSalvaging what can be read.\n"))?;
    }
    let mut bar = ProgressBar::new("items");
    let salvaged = Engine::salvage(directory, &Options::default(), &mut |progress| {
        bar.show(Progress { count: progress.rows, ..Progress::default() });
        ControlFlow::Continue(())
    });
    drop(bar);
    let salvaged = salvaged.map_err(|error| error.to_string())?;
    write_stdout(&match is_json {
        true => salvaged_json(&salvaged),
        false => salvaged_text(&salvaged),
    })
}

fn salvaged_json(salvaged: &Salvaged) -> String {
    let figures = [
        ("salvaged_items", salvaged.items),
        ("lost_ranges", salvaged.lost_ranges),
        ("salvaged_to_commit", salvaged.commit),
    ];
    let figures = Item::from(figures.map(|(name, figure)| (name, Value::from(figure))));
    let tables = salvaged.lost_items.iter().map(|(table, lost)| {
        let lost = lost.map_or(Value::Null, Value::from);
        Item::from([("table", Value::from(table.to_string())), ("lost_items", lost)])
    });
    tables.chain([figures]).map(|item| item_to_json(&item) + "\n").collect()
}

fn salvaged_text(salvaged: &Salvaged) -> String {
    let Salvaged { items, lost_ranges, commit, lost_items, .. } = salvaged;
    let [items, ranges] = [*items, *lost_ranges].map(grouped);
    let mut text = format!(
        "Tree salvaged, up to commit {commit}: {items} items kept, {ranges} key ranges lost.\n"
    );
    for (table, lost) in lost_items {
        let lost = lost.map_or("an unknown number of".to_owned(), grouped);
        text += &format!("Table {table}: {lost} items lost.\n");
    }
    text
}

/// Adds the damage of the directory, if any, to the error of a command.
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

/// Adds how to proceed to the error of a rebuild.
fn advice(error: &Error) -> String {
    let Error::BackupNeeded { since, .. } = error else { return error.to_string() };
    let since = FieldType::Time.to_external(&Value::from(since.0));
    let since = since.as_s().unwrap_or_default();
    format!(
        "{error} Give one made after {since} with --from BACKUP. If there is none, copy the \
         directory and add --salvage: it keeps what can still be read and drops the rest."
    )
}
