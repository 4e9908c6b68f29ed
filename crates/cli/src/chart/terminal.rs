//! The chart for a terminal: tables of 100 columns.

use super::cost::Cost;
use super::grid::{Align, WIDTH, grid, wrap};
use super::pattern::{Kept, Pattern};
use super::sheet::{EntitySheet, Sheet};

const LEGEND: &str =
    "Costs are of entities of 1 KB and pages of 20: rows, and DynamoDB's units for them.";

pub(super) fn draw(sheet: &Sheet) -> String {
    let indexes = match sheet.indexes {
        0 => "no index".to_owned(),
        1 => "1 index".to_owned(),
        count => format!("{count} indexes"),
    };
    let kinds = sheet.entities.len();
    let noun = if kinds == 1 { "kind of entity" } else { "kinds of entities" };
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
        let question = format!("{}\n{}", pattern.question, pattern.request);
        match &pattern.place {
            kept @ (Kept::InSets | Kept::Not) => {
                vec![question, kept.note().to_owned(), "–".to_owned(), "–".to_owned()]
            }
            Kept::At(place) => {
                let key = |(name, holds): &(String, String)| format!("{name} {holds}");
                let keys = format!("{}\n{}", key(&place.partition), key(&place.sort));
                vec![question, keys, place.cost.rows.to_string(), units(place.cost)]
            }
        }
    };
    let head = [
        ("question", Align::Left),
        ("key", Align::Left),
        ("rows", Align::Right),
        ("units", Align::Right),
    ];
    grid(&head, &entity.patterns.iter().map(row).collect::<Vec<_>>())
}

fn writes(entity: &EntitySheet) -> String {
    let row =
        |(what, cost): &(&str, Cost)| vec![(*what).to_owned(), cost.rows.to_string(), units(*cost)];
    let head = [("change", Align::Left), ("rows", Align::Right), ("units", Align::Right)];
    grid(&head, &entity.writes.iter().map(row).collect::<Vec<_>>())
}

/// Whole units without a fraction.
pub(super) fn units(cost: Cost) -> String {
    format!("{}", cost.units)
}
