//! Sample tasks with user-defined tags.

use keyloom::{Entry, Item, Value};

use keyloom_app::random::Random;

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
    let mut random = Random::new(number);
    let name = format!("{} {}", random.pick(&VERBS, "Do"), random.pick(&THINGS, "it"));
    let priority = random.weighted(&[("low", 3), ("normal", 5), ("high", 2)], "normal");
    let severity = random.weighted(&[("low", 6), ("medium", 3), ("high", 1)], "low");
    let mut tags = Item::from([
        ("project", random.pick(&PROJECTS, "house")),
        ("priority", priority),
        ("severity", severity),
    ]);
    if random.below(3) == 0 {
        tags.insert("who", random.pick(&PEOPLE, "me"));
    }
    if random.below(10) == 0 {
        tags.insert("url", format!("http://example.com/{}", random.below(1000)));
    }
    let fields = Item::from([
        ("name", Value::from(name)),
        ("done", Value::Bool(random.below(4) == 0)),
        ("tags", Value::M(tags)),
    ]);
    let id = format!("sample-{number:010}");
    vec![Entry { entity: "task".to_owned(), tenant: None, id, fields }]
}
