//! `keyloom chart`: what a model compiles to: entities, access patterns with keys and costs, and the
//! table with sample rows.
//!
//! `sheet` decides what is in a chart; `terminal`, `markdown`, `svg`, `entities`, `page` and `json` only
//! render it.

mod cost;
mod entities;
pub(crate) mod grid;
mod json;
mod markdown;
mod notation;
mod page;
mod pattern;
mod sample;
mod sheet;
pub(crate) mod svg;
mod terminal;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches};
use keyloom_model::Layout;
use keyloom_value::Item;

use crate::command::{Command, json_argument, open_output, output_argument};
use crate::model_file::ModelFile;

use sheet::Sheet;

pub(crate) const COMMAND: Command = Command { name: "chart", describe, run };

const EXAMPLES: &str = "\
A key is a sequence of parts: {field} is the value of a field, -{field} sorts in descending order.
PK and SK are the keys of the table, L0P and L0S those of its first index, and so on. Costs are for
entities of 1 KB and pages of 20: rows read or written, and DynamoDB capacity units. A query keeps
rows for itself: so many write units are the cost of having it, for each entity that is created.

Examples:
  keyloom chart apps/oncall/model.toml
      Print tables to the terminal

  keyloom chart apps/oncall/model.toml --format markdown --output oncall.md
      Write tables and a diagram of the entities, for a README or a wiki

  keyloom chart apps/oncall/model.toml --format svg --output oncall.svg
      Draw the table and its indexes with sample rows

  keyloom chart apps/oncall/model.toml --format entities --output entities.svg
      Draw the entities with their fields, queries and references

  keyloom chart apps/oncall/model.toml --format html --output oncall.html
      Write an interactive page: entities to click, queries and costs to search and sort

  keyloom chart apps/oncall/model.toml --json
      Print the same as JSON";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Show what a model compiles to: entities, access patterns, keys and costs")
        .arg(ModelFile::argument())
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["terminal", "markdown", "svg", "entities", "html"])
                .default_value("terminal")
                .help("Output format\n"),
        )
        .arg(output_argument())
        .arg(json_argument().conflicts_with("format"))
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let file = ModelFile::from_arguments(arguments)?;
    let path = arguments.get_one::<PathBuf>("model").map(PathBuf::as_path);
    let layout = Layout::new(file.model, 1, &Item::new());
    let sheet = Sheet::new(&layout, &path.map(title).unwrap_or_default());
    let format = arguments.get_one::<String>("format").map(String::as_str);
    let chart = match format {
        _ if arguments.get_flag("json") => json::draw(&sheet),
        Some("markdown") => markdown::draw(&sheet),
        Some("svg") => svg::draw(&sheet, &layout),
        Some("entities") => entities::draw(&sheet),
        Some("html") => page::draw(&sheet),
        Some(_) | None => terminal::draw(&sheet),
    };
    let mut output = open_output(arguments.get_one::<PathBuf>("output").map(PathBuf::as_path))?;
    let written = output.write_all(chart.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| format!("cannot write the chart: {error}."))
}

/// The title of a chart: the name of the model file, or of its folder if it is `model.toml`.
pub(crate) fn title(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    let name = if stem == "model" { folder.unwrap_or(stem) } else { stem };
    name.to_string_lossy().into_owned()
}
