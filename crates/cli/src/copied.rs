//! What `backup` and `restore` share: the directory to create, and the report.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom::{Item, Value, item_to_json};
use keyloom_app::operations::Copied;
use keyloom_model::FieldType;

use crate::progress::grouped;

/// `--to`, the directory to create.
pub(crate) fn target_argument() -> Arg {
    Arg::new("to")
        .long("to")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .required(true)
        .help("Directory to create; it must be empty or not exist")
}

/// The directory that [`target_argument`] names.
pub(crate) fn target(arguments: &ArgMatches) -> Result<&Path, String> {
    let path = arguments.get_one::<PathBuf>("to").ok_or("give a directory with --to.")?;
    Ok(path.as_path())
}

/// Formats the result of a copy.
pub(crate) fn format_copied(copied: Copied, is_json: bool) -> String {
    let Copied { rows, commit, at } = copied;
    let at = FieldType::Time.to_external(&Value::from(at));
    if is_json {
        let item =
            Item::from([("rows", Value::from(rows)), ("commit", Value::from(commit)), ("at", at)]);
        return item_to_json(&item) + "\n";
    }
    let at = at.as_s().unwrap_or_default().to_owned();
    format!("{} rows, up to commit {commit} at {at}.\n", grouped(rows))
}
