//! The chart as Markdown: a diagram of the entities, and tables.

use super::cost::Cost;
use super::pattern::{Kept, Pattern};
use super::sheet::{EntitySheet, Reference, Sheet};
use super::terminal::units;

pub(super) fn draw(sheet: &Sheet) -> String {
    let mut text = format!("# {}\n\n{}", escape(&sheet.title), diagram(sheet));
    text += "\nA key is its parts: words and numbers as they are, `{field}` for the value of a field, \
             `-{field}` for one in\ndescending order. PK and SK are the keys of the table, L0P and \
             L0S those of its first index, and so on.\nCosts are of entities of 1 KB and pages of \
             20: rows, and DynamoDB's units for them.\n";
    for entity in &sheet.entities {
        text += &format!(
            "\n## {}\n\n`{}`: {}.\n",
            escape(&entity.name),
            entity.path,
            escape(&entity.facts.join("; "))
        );
        text += &fields(entity);
        text += &reads(entity);
        text += &writes(entity);
    }
    text
}

/// Who refers to whom, and who is whose parent.
fn diagram(sheet: &Sheet) -> String {
    let mut text = "```mermaid\nerDiagram\n".to_owned();
    for entity in &sheet.entities {
        text += &format!("    {} {{\n", entity.name);
        for field in &entity.fields {
            let of = field.of.split([' ', '(', '?']).next().unwrap_or_default();
            let key = if field.name == "id" { " PK" } else { "" };
            let is_reference = entity.references.iter().any(|other| other.field == field.name);
            let key = if is_reference { " FK" } else { key };
            text += &format!("        {of} {}{key}\n", field.name);
        }
        text += "    }\n";
    }
    for entity in &sheet.entities {
        for reference in &entity.references {
            text += &format!("    {}\n", line(entity, reference));
        }
    }
    text + "```\n"
}

/// A solid line to the parent, a broken one to what is referred to.
fn line(
    entity: &EntitySheet,
    Reference { field, target, is_parent, is_required }: &Reference,
) -> String {
    let one = if *is_required { "||" } else { "|o" };
    let (line, label) = if *is_parent { ("--", "has") } else { ("..", field.as_str()) };
    format!("{target} {one}{line}o{{ {} : {label}", entity.name)
}

fn fields(entity: &EntitySheet) -> String {
    let mut text = "\n| field | type |\n|---|---|\n".to_owned();
    for field in &entity.fields {
        text += &format!("| {} | {} |\n", escape(&field.name), code(&field.of));
    }
    text
}

fn reads(entity: &EntitySheet) -> String {
    let mut text =
        "\n| question | request | key | rows | units |\n|---|---|---|---:|---:|\n".to_owned();
    for Pattern { question, request, place } in &entity.patterns {
        let (key, rows, units) = match place {
            kept @ (Kept::InSets | Kept::Not) => {
                (kept.note().to_owned(), "–".to_owned(), "–".to_owned())
            }
            Kept::At(place) => {
                let key = |(name, holds): &(String, String)| code(&format!("{name} {holds}"));
                let keys = format!("{}<br>{}", key(&place.partition), key(&place.sort));
                (keys, place.cost.rows.to_string(), units(place.cost))
            }
        };
        let question = escape(question);
        text += &format!("| {question} | {} | {key} | {rows} | {units} |\n", code(request));
    }
    text
}

fn writes(entity: &EntitySheet) -> String {
    let mut text = "\n| change | rows | units |\n|---|---:|---:|\n".to_owned();
    for (what, cost) in &entity.writes {
        let Cost { rows, .. } = cost;
        text += &format!("| {what} | {rows} | {} |\n", units(*cost));
    }
    text
}

/// Code in a cell: a bar would end the cell, and a backquote the code.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Text that means nothing else in Markdown.
fn escape(text: &str) -> String {
    let is_special = |c: char| matches!(c, '\\' | '`' | '*' | '_' | '|' | '<' | '>' | '[' | ']');
    let escaped = text.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c]));
    escaped.collect()
}
