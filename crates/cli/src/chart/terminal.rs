//! The chart for a terminal: tables at most 100 columns wide.

use super::cost::Cost;
use super::grid::{Align, WIDTH, grid, wrap};
use super::pattern::{Access, KeyAccess, Pattern};
use super::sheet::{EntitySheet, Sheet};

const LEGEND: &str = "Costs are for entities of 1 KB and pages of 20: rows read or written, and DynamoDB capacity units.";

pub(super) fn draw(sheet: &Sheet) -> String {
    let indexes = match sheet.indexes {
        0 => "no index".to_owned(),
        1 => "1 index".to_owned(),
        count => format!("{count} indexes"),
    };
    let kinds = sheet.entities.len();
    let noun = if kinds == 1 { "entity" } else { "entities" };
    let title = format!("{}: {kinds} {noun} in one table with {indexes}", sheet.title);
    let mut text = format!("{title}\n{LEGEND}\n");
    for entity in &sheet.entities {
        text += &format!("\n{}\n{}\n", "═".repeat(WIDTH), heading(entity));
        text += &wrap(&(entity.facts.join("; ") + "."), WIDTH).join("\n");
        text += &format!("\n{}", fields(entity));
        text += &reads(entity);
        text += &writes(entity);
    }
    text
}

fn heading(entity: &EntitySheet) -> String {
    format!("{}  {}", entity.name, entity.path)
}

fn fields(entity: &EntitySheet) -> String {
    let row = |field: &super::sheet::FieldSheet| vec![field.name.clone(), field.of.clone()];
    let rows: Vec<Vec<String>> = entity.fields.iter().map(row).collect();
    grid(&[("field", Align::Left), ("type", Align::Left)], &rows)
}

fn reads(entity: &EntitySheet) -> String {
    let row = |pattern: &Pattern| {
        let query = format!("{}\n{}", pattern.query, pattern.request);
        let keeps = pattern.keeps.map_or_else(|| "–".to_owned(), |units| units.to_string());
        match &pattern.access {
            access @ (Access::Sets | Access::Missing) => {
                vec![query, access.note().to_owned(), "–".to_owned(), "–".to_owned(), keeps]
            }
            Access::Keys(KeyAccess { partition, sort, cost }) => {
                let key = |(name, parts): &(String, String)| format!("{name} {parts}");
                let keys = format!("{}\n{}", key(partition), key(sort));
                vec![query, keys, cost.rows.to_string(), cost.units.to_string(), keeps]
            }
        }
    };
    let head = [
        ("query", Align::Left),
        ("key", Align::Left),
        ("rows", Align::Right),
        ("units", Align::Right),
        ("keeps", Align::Right),
    ];
    grid(&head, &entity.patterns.iter().map(row).collect::<Vec<_>>())
}

fn writes(entity: &EntitySheet) -> String {
    let row = |(what, cost): &(&str, Cost)| {
        vec![(*what).to_owned(), cost.rows.to_string(), cost.units.to_string()]
    };
    let head = [("write", Align::Left), ("rows", Align::Right), ("units", Align::Right)];
    grid(&head, &entity.writes.iter().map(row).collect::<Vec<_>>())
}
