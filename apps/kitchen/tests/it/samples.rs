//! The sample data: its contents, that the model accepts it, and its file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use keyloom::{Db, Entry, Existing, Imported, Repair, Value};
use keyloom_kitchen::{application, sample};
use keyloom_store::{MemoryStore, SystemClock};

/// More than a century of weeks, after which dates repeat.
const MENUS: u64 = 5300;

fn text<'e>(entry: &'e Entry, field: &str) -> &'e str {
    entry.fields.get(field).and_then(Value::as_s).unwrap_or_default()
}

fn of<'e>(entries: &'e [Entry], entity: &'e str) -> impl Iterator<Item = &'e Entry> {
    entries.iter().filter(move |entry| entry.entity == entity)
}

#[test]
fn the_file_of_samples_equals_the_generator() {
    let lines: Vec<String> = sample(0, 1).iter().map(|entry| entry.to_json() + "\n").collect();
    let (text, path) =
        (lines.concat(), Path::new(env!("CARGO_MANIFEST_DIR")).join("samples.jsonl"));
    if std::env::var_os("KEYLOOM_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == written, "{} is out of date: set KEYLOOM_BLESS=1.", path.display());
}

#[test]
fn samples_have_every_kind_of_entity() {
    let entries = sample(0, 1);
    let count = |entity| of(&entries, entity).count();
    assert_eq!((count("category"), count("ingredient"), count("recipe")), (8, 49, 14));
    let needed: BTreeSet<&str> =
        of(&entries, "recipe_ingredient").map(|need| text(need, "ingredient")).collect();
    let sold: BTreeSet<&str> =
        of(&entries, "ingredient").map(|ingredient| ingredient.id.as_str()).collect();
    assert_eq!(needed, sold, "every ingredient is in a recipe, and nothing else is");
    for need in of(&entries, "recipe_ingredient") {
        let amount = need.fields.get("amount").and_then(Value::as_n).unwrap();
        assert!(amount.to_string() != "0", "{} needs nothing", need.id);
    }
}

#[test]
fn every_menu_starts_on_a_monday_and_repeats_no_recipe() {
    let mut starts = BTreeSet::new();
    for number in 0..MENUS {
        let entries = sample(number, MENUS);
        let menu = of(&entries, "menu").next().unwrap();
        starts.insert(text(menu, "starts").to_owned());
        let recipes: BTreeSet<&str> =
            of(&entries, "menu_item").map(|dish| text(dish, "recipe")).collect();
        assert_eq!(recipes.len(), of(&entries, "menu_item").count(), "{}", menu.id);
    }
    assert_eq!(starts.len(), 5200);
    for (number, name, start) in [
        (0, "Week 47, 2026", "2026-11-16T00:00:00Z"),
        (6, "Week 53, 2026", "2026-12-28T00:00:00Z"),
        (7, "Week 1, 2027", "2027-01-04T00:00:00Z"),
        // The day before a leap day, and the week after it.
        (67, "Week 9, 2028", "2028-02-28T00:00:00Z"),
        (68, "Week 10, 2028", "2028-03-06T00:00:00Z"),
        (999, "Week 2, 2046", "2046-01-08T00:00:00Z"),
    ] {
        let entries = sample(number, MENUS);
        let menu = of(&entries, "menu").next().unwrap();
        assert_eq!((text(menu, "name"), text(menu, "starts")), (name, start));
    }
}

#[test]
fn samples_can_be_imported_one_by_one_and_twice() {
    pollster::block_on(async {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let db = Db::open(application().model, store).await.unwrap();
        for expected in [Imported::Created, Imported::Unchanged] {
            for entry in (0..3).flat_map(|number| sample(number, 3)) {
                let id = entry.id.clone();
                let imported = db.import(vec![entry], Existing::Keep).await;
                assert_eq!(imported.unwrap(), [expected], "{id}");
            }
        }
        assert!(db.verify(Repair::No, |_| {}).await.unwrap().is_empty());
    });
}
