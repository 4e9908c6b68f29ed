//! What `backup` and `restore` share: the directory to create, and the report.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom::{Item, Value, item_to_json};
use keyloom_model::FieldType;
use keyloom_store::{CopyProgress, DirectoryError, Error};

use crate::progress::grouped;

/// The option that names the directory to create.
pub(crate) fn target_argument() -> Arg {
    Arg::new("to")
        .long("to")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .required(true)
        .help("Directory to create; it must be empty or not exist")
}

/// A directory to create. The store refuses one that is not empty.
pub(crate) struct Target<'a> {
    path: &'a Path,
    existed: bool,
}

impl Target<'_> {
    /// The one that [`target_argument`] names.
    pub(crate) fn named(arguments: &ArgMatches) -> Result<Target<'_>, String> {
        let path = arguments.get_one::<PathBuf>("to").ok_or("give a directory with --to.")?;
        Ok(Target { path, existed: path.exists() })
    }

    /// Creates it. After a failure the store has removed its files; what it leaves empty goes too.
    pub(crate) fn create(
        self,
        fill: impl FnOnce(&Path) -> Result<CopyProgress, Error>,
    ) -> Result<CopyProgress, String> {
        fill(self.path).map_err(|error| {
            if !self.existed && !matches!(error, Error::Directory(DirectoryError::Locked { .. })) {
                // Nothing that holds anything is removed.
                let _ = fs::remove_dir(self.path.join("log"));
                let _ = fs::remove_dir(self.path);
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
