//! Tasks to look at, with tags that somebody could have made up.

use keyloom::{Entry, Item, Value};

use super::random::Chance;

const VERBS: [&str; 10] = [
    "Plan",
    "Finish",
    "Review",
    "Order",
    "Repair",
    "Clean",
    "Write",
    "Paint",
    "Call about",
    "Sort",
];
const THINGS: [&str; 14] = [
    "the shelves",
    "the garden fence",
    "the holiday",
    "the invoices",
    "the bicycle",
    "the release",
    "the speech",
    "the roof",
    "the piano lesson",
    "the photographs",
    "the first chapter",
    "the kitchen door",
    "the survey",
    "the old letters",
];
const PROJECTS: [&str; 12] = [
    "self improvement",
    "house",
    "garden",
    "office",
    "school",
    "travel",
    "music",
    "health",
    "books",
    "family",
    "club",
    "neighbours",
];
const PEOPLE: [&str; 6] = ["me", "the team", "the children", "a craftsman", "the board", "anybody"];

pub(super) fn sample(number: u64, _: u64) -> Vec<Entry> {
    let mut chance = Chance::of(number);
    let name = format!("{} {}", chance.pick(&VERBS, "Do"), chance.pick(&THINGS, "it"));
    let priority = chance.weighed(&[("low", 3), ("normal", 5), ("high", 2)], "normal");
    let severity = chance.weighed(&[("low", 6), ("medium", 3), ("high", 1)], "low");
    let mut tags = Item::from([
        ("project", chance.pick(&PROJECTS, "house")),
        ("priority", priority),
        ("severity", severity),
    ]);
    if chance.below(3) == 0 {
        tags.insert("who", chance.pick(&PEOPLE, "me"));
    }
    if chance.below(10) == 0 {
        tags.insert("url", format!("http://example.com/{}", chance.below(1000)));
    }
    let fields = Item::from([
        ("name", Value::from(name)),
        ("done", Value::Bool(chance.below(4) == 0)),
        ("tags", Value::M(tags)),
    ]);
    let id = format!("sample-{number:010}");
    vec![Entry { entity: "task".to_owned(), tenant: None, id, fields }]
}
