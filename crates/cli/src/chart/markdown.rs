//! The chart as Markdown: an entity diagram and tables.

use super::pattern::{Access, KeyAccess, Pattern};
use super::sheet::{EntitySheet, Reference, Sheet};

pub(super) fn draw(sheet: &Sheet) -> String {
    let mut text = format!("# {}\n\n{}", escape(&sheet.title), diagram(sheet));
    text += "\nA key is a sequence of parts: literal words and numbers, `{field}` for the value of a field, \
             `-{field}` for one in\ndescending order. PK and SK are the keys of the table, L0P and \
             L0S those of its first index, and so on.\nCosts are for entities of 1 KB and pages of \
             20: rows read or written, and DynamoDB capacity units. A query *keeps* so many write units for\neach entity \
             that is created.\n";
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

/// Entities with their fields, parents and references.
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

/// A solid line to a parent, a dashed one to a referenced entity.
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
        "\n| query | request | key | rows | units | keeps |\n|---|---|---|---:|---:|---:|\n"
            .to_owned();
    for Pattern { query, request, access, keeps } in &entity.patterns {
        let (key, rows, units) = match access {
            Access::Sets | Access::Missing => {
                (access.note().to_owned(), "–".to_owned(), "–".to_owned())
            }
            Access::Keys(KeyAccess { partition, sort, cost }) => {
                let key = |(name, parts): &(String, String)| code(&format!("{name} {parts}"));
                let keys = format!("{}<br>{}", key(partition), key(sort));
                (keys, cost.rows.to_string(), cost.units.to_string())
            }
        };
        let query = escape(query);
        let (request, keeps) =
            (code(request), keeps.map_or_else(|| "–".to_owned(), |units| units.to_string()));
        text += &format!("| {query} | {request} | {key} | {rows} | {units} | {keeps} |\n");
    }
    text
}

fn writes(entity: &EntitySheet) -> String {
    let mut text = "\n| write | rows | units |\n|---|---:|---:|\n".to_owned();
    for (what, cost) in &entity.writes {
        text += &format!("| {what} | {} | {} |\n", cost.rows, cost.units);
    }
    text
}

/// Code in a table cell. An unescaped bar would end the cell, a backquote the code.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Escapes Markdown syntax.
fn escape(text: &str) -> String {
    let is_special = |c: char| matches!(c, '\\' | '`' | '*' | '_' | '|' | '<' | '>' | '[' | ']');
    let escaped = text.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c]));
    escaped.collect()
}
