//! `keyloom check`: validates a model file, and shows what a new model means for existing data.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom::{Item, Value, item_to_json};
use keyloom_model::{Entity, EntityId, Layout, ModelError, evolve};

use crate::command::{Command, json_argument, write_stdout};
use crate::model_file::{ModelFile, ReadError};

pub(crate) const COMMAND: Command = Command { name: "check", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom check apps/kitchen/model.toml
      Print every error with its position and a fix, or a summary of the model and the rows
      that a write of each entity touches

  keyloom check new.toml --against old.toml
      Also print what changes for existing data, or why it cannot be migrated

  keyloom check model.toml --json
      Print {\"errors\": [...]} with line, column, code, reason and help, or
      {\"entities\": [...], \"indexes\": 2}

docs/model.md is the reference of the model language and its errors.";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Check a model file")
        .arg(ModelFile::argument())
        .arg(
            Arg::new("against")
                .long("against")
                .value_name("OLD")
                .value_parser(value_parser!(PathBuf))
                .help("Model file that existing data was written with"),
        )
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let is_json = arguments.get_flag("json");
    let path = arguments.get_one::<PathBuf>("model").ok_or("name a model file.")?;
    let file = match ModelFile::try_read(path) {
        Ok(file) => file,
        Err(ReadError::Invalid(errors)) if is_json => {
            write_stdout(&errors_json(&errors))?;
            return Err("the model has errors, see above.".to_owned());
        }
        Err(error) => return Err(error.format(path)),
    };
    file.check_served()?;
    let layout = Layout::new(file.model.clone(), 1, &Item::new());
    let changes = match arguments.get_one::<PathBuf>("against") {
        None => None,
        Some(old) => Some((old.display().to_string(), changes(old, &file)?)),
    };
    write_stdout(&if is_json { summary_json(&layout, changes) } else { summary(&layout, changes) })
}

/// What the new model changes for data of the old one.
fn changes(old: &Path, new: &ModelFile) -> Result<String, String> {
    let evolution = evolve(&ModelFile::read(old)?.model, &new.model).map_err(|refusals| {
        let refusals: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        format!("data of {} cannot be migrated.\n{}", old.display(), refusals.join("\n"))
    })?;
    Ok(if evolution.is_empty() { "nothing\n".to_owned() } else { evolution.to_string() })
}

/// One line for each entity.
fn summary(layout: &Layout, changes: Option<(String, String)>) -> String {
    let mut text = String::new();
    let widest = layout.model().entities().map(|(_, entity)| entity.name.len()).max();
    let width = widest.unwrap_or_default();
    for (id, entity) in layout.model().entities() {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:width$}  {:>2} fields  {:>2} lists  {:>2} uniques  at most {:>2} rows per write",
            entity.name,
            entity.fields.len() - 1,
            entity.lists.len(),
            entity.uniques.len(),
            layout.rows_max(id),
        );
    }
    let _ = writeln!(text, "OK: the model needs {} indexes.", layout.slot_count());
    if let Some((old, changes)) = changes {
        let _ = write!(text, "\nChanges for data of {old}:\n{changes}");
    }
    text
}

fn summary_json(layout: &Layout, changes: Option<(String, String)>) -> String {
    let count = |count: usize| Value::from(count as u64);
    let entity = |(id, entity): (EntityId, &Entity)| {
        Value::M(Item::from([
            ("name", Value::from(entity.name.as_str())),
            ("fields", count(entity.fields.len() - 1)),
            ("lists", count(entity.lists.len())),
            ("uniques", count(entity.uniques.len())),
            ("rows_max", count(layout.rows_max(id))),
        ]))
    };
    let mut item = Item::from([
        ("entities", Value::L(layout.model().entities().map(entity).collect())),
        ("indexes", count(layout.slot_count())),
    ]);
    if let Some((_, changes)) = changes {
        item.insert("changes", changes);
    }
    item_to_json(&item) + "\n"
}

fn errors_json(errors: &[ModelError]) -> String {
    let error = |error: &ModelError| {
        let help = error.help().map_or(Value::Null, Value::from);
        Value::M(Item::from([
            ("line", Value::from(error.line() as u64)),
            ("column", Value::from(error.column() as u64)),
            ("code", Value::from(error.code().as_str())),
            ("reason", Value::from(error.reason())),
            ("help", help),
        ]))
    };
    let errors = Value::L(errors.iter().map(error).collect());
    item_to_json(&Item::from([("errors", errors)])) + "\n"
}
