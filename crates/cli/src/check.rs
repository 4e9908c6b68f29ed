//! `keyloom check`: whether a model file is right, and what becomes of data when it replaces
//! another one.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_model::{Layout, Model, evolve, render};
use keyloom_value::Item;

use crate::command::Command;

pub(crate) const COMMAND: Command = Command { name: "check", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom check apps/kitchen/model.toml
      Every error of the file with its place and what to do; or what the model declares, and how
      many rows one change of each entity can touch.

  keyloom check new.toml --against old.toml
      Also what must be done to data of the old model, or why it cannot be kept.

docs/model.md explains the language of models and every error.";

fn describe(command: clap::Command) -> clap::Command {
    let path = |name: &'static str| Arg::new(name).value_parser(value_parser!(PathBuf));
    command
        .about("Check a model file")
        .arg(path("model").value_name("MODEL").required(true).help("The model file"))
        .arg(
            path("against")
                .long("against")
                .value_name("OLD")
                .help("The model file that the data was written under"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let model = read(arguments.get_one("model"))?;
    let mut text = summary(&Layout::new(model.clone(), 1, &Item::new()));
    if let Some(old) = arguments.get_one::<PathBuf>("against") {
        let evolution = evolve(&read(Some(old))?, &model).map_err(|refusals| {
            let refusals: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            format!("data of {} cannot be kept.\n{}", old.display(), refusals.join("\n"))
        })?;
        let said =
            if evolution.is_nothing() { "nothing\n".to_owned() } else { evolution.to_string() };
        let _ = write!(text, "\nWhat becomes of data of {}:\n{said}", old.display());
    }
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}

fn read(path: Option<&PathBuf>) -> Result<Model, String> {
    let path = path.ok_or("name a model file.")?;
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| format!("{name} cannot be read: {error}."))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        format!("{name} is not UTF-8, from byte {} on.", error.utf8_error().valid_up_to())
    })?;
    keyloom_model::check(&text)
        .map_err(|errors| format!("{name} has errors.\n{}", render(&errors, &name)))
}

/// One line for each entity.
fn summary(layout: &Layout) -> String {
    let mut text = String::new();
    let widest = layout.model().entities().map(|(_, entity)| entity.name.len()).max();
    let width = widest.unwrap_or_default();
    for (id, entity) in layout.model().entities() {
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "{:width$}  {:>2} fields  {:>2} lists  {:>2} uniques  at most {:>2} rows in a change",
            entity.name,
            entity.fields.len() - 1,
            entity.lists.len(),
            entity.uniques.len(),
            layout.rows_max(id),
        );
    }
    let _ = writeln!(text, "The model is right. It needs {} indexes.", layout.slot_count());
    text
}
