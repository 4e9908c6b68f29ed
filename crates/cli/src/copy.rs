//! What `backup` and `restore` have in common: a directory that is made, and what is told of it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use keyloom::{Item, Value, item_to_json};
use keyloom_model::FieldType;
use keyloom_store::{CopyProgress, Error};

use crate::progress::grouped;

/// A directory that is not there, or is empty. Nothing is ever written over.
pub(crate) struct NewDirectory(PathBuf);

impl NewDirectory {
    /// The one that `--to` names.
    pub(crate) fn named(arguments: &ArgMatches) -> Result<NewDirectory, String> {
        let path = arguments.get_one::<PathBuf>("to").ok_or("name a directory with --to.")?;
        let is_free = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(format!("{} cannot be used: {error}.", path.display())),
        };
        if is_free {
            return Ok(NewDirectory(path.clone()));
        }
        Err(format!(
            "{} is not empty, and nothing is written over: name a directory that is new.",
            path.display()
        ))
    }

    /// Makes it. If that fails, what was begun is removed.
    pub(crate) fn make(
        self,
        fill: impl FnOnce(&Path) -> Result<CopyProgress, Error>,
    ) -> Result<CopyProgress, String> {
        fill(&self.0).map_err(|error| {
            // Then somebody else makes it.
            if !matches!(error, Error::Locked { .. }) {
                // What cannot be removed is no data directory, and is refused as one.
                let _ = fs::remove_dir_all(&self.0);
            }
            error.to_string()
        })
    }
}

/// What was copied, for people or for programs.
pub(crate) fn told(copied: CopyProgress, is_json: bool) -> String {
    let CopyProgress { rows, commit, at } = copied;
    let at = FieldType::Time.show(&Value::from(at.0));
    if is_json {
        let item =
            Item::from([("rows", Value::from(rows)), ("commit", Value::from(commit)), ("at", at)]);
        return item_to_json(&item) + "\n";
    }
    let at = at.as_s().unwrap_or_default().to_owned();
    format!("{} rows, up to commit {commit} of {at}.\n", grouped(rows))
}
