//! Filters with rare or common matches, at either end of a long list: the queries of the comments
//! service on one product, and tags in the order of a field.

use std::cell::Cell;
use std::time::Duration;

use keyloom::{Db, Entry, Item, ListQuery, Page, Value};
use pollster::block_on;

use crate::kept::Kept;
use crate::measured::{format_time, median};
use crate::tasks::PAGE;

const COMMENTS: &str = include_str!("../../../../apps/comments/model.toml");
const TASKS: &str = r#"
[entity.task]
fields.due   = "time"
fields.title = "text"
fields.tags  = "tags = {}"
list.first_due = { order = "due" }
"#;

/// The number of oldest, and of newest, entities with a value of their own.
const AT_AN_END: u32 = 1_000;
/// Pages read before the measured page far down the list.
const PAGES_BEFORE: usize = 1_000;

/// Prints the cost of pages.
pub(crate) fn report(count: u32) {
    comments(count);
    tags(count);
}

fn comments(count: u32) {
    let kept = Kept::open(COMMENTS);
    kept.import(count, 1, |number| comment(number, count));
    kept.settle();
    let db = &kept.db;
    println!("{count} comments on one product:\n\n| query | found | rows read | time |");
    println!("|---|---:|---:|---:|");
    let list = || db.list("comment", "by_product").by("product", "42").limit(PAGE as u32);
    let in_language = |language: &'static str| list().facet("language", [language]);
    let rated = |list: ListQuery, ratings: &[u64]| list.facet("rating", ratings.to_vec());
    row("QP1: the newest", list());
    row("QP2: in a common language", in_language("fr"));
    row("QP2: in one that only the newest have", in_language("la"));
    row("QP2: in one that only the oldest have", in_language("it"));
    row("QP2: in one that 20 have", in_language("eo"));
    row("QP3: in a common language, ratings 1 and 5", rated(in_language("en"), &[1, 5]));
    row("QP3: in that of the oldest, rating 4", rated(in_language("it"), &[4]));
    row("QP3: in all languages, rating 5", rated(list(), &[5]));
    row("QP4: the newest, after 1,000 pages", far_down(list()));
    row("QP4: in a common language, after 1,000 pages", far_down(in_language("en")));
    let get = median(|| block_on(db.get("comment", &id(count / 2))).expect("it is read"));
    println!("| QP5: one by its id | 1 | 1 | {} |", format_time(get));
    row("QP6: the newest positive one in English", rated(in_language("en"), &[4, 5]).limit(1));
    row("QP6: the same in that of the oldest", rated(in_language("it"), &[4, 5]).limit(1));
    println!("| QP7: delete one by its id, synced | 1 | | {} |\n", format_time(deletion(db)));
}

fn tags(count: u32) {
    let kept = Kept::open(TASKS);
    kept.import(count, 1, |number| task(number, count));
    kept.settle();
    let list = || kept.db.list("task", "first_due").limit(PAGE as u32);
    println!(
        "{count} tasks in the order of when they are due:\n\n| filter | found | rows read | time |"
    );
    println!("|---|---:|---:|---:|");
    row("none", list());
    for (story, tag) in [
        ("half of all, scattered", "even"),
        ("the first half", "early"),
        ("the last half", "late"),
        ("one in 100, scattered", "percent"),
        ("the first 1,000", "first"),
        ("the last 1,000", "last"),
        ("20, scattered", "rare"),
    ] {
        row(story, list().tag(tag, "yes"));
    }
    row("half of all, and the last half", list().tag("even", "yes").tag("late", "yes"));
    row("the last half, after 1,000 pages", far_down(list().tag("late", "yes")));
    println!();
}

fn row(story: &str, list: ListQuery) {
    let page = read(&list);
    let time = median(|| read(&list));
    println!("| {story} | {} | {} | {} |", page.items.len(), page.read.rows, format_time(time));
}

fn read(list: &ListQuery) -> Page {
    block_on(list.clone().read()).expect("a page is read")
}

/// Returns the list from far down.
fn far_down(list: ListQuery) -> ListQuery {
    let mut next = list.clone();
    for _ in 0..PAGES_BEFORE {
        let Some(cursor) = read(&next).next else { break };
        next = list.clone().after(cursor);
    }
    next
}

/// Deletes one entity after another, each with a sync.
fn deletion(db: &Db) -> Duration {
    let next = Cell::new(AT_AN_END);
    median(|| {
        next.set(next.get() + 1);
        block_on(db.delete("comment", &id(next.get()))).expect("it is deleted");
    })
}

fn comment(number: u32, count: u32) -> Entry {
    let mixed = mixed(number);
    let language = match number {
        0..AT_AN_END => "it",
        _ if number >= count - AT_AN_END => "la",
        _ if number % (count / 20) == count / 40 => "eo",
        _ if mixed.is_multiple_of(5) => "fr",
        _ => "en",
    };
    let fields = Item::from([
        ("product", Value::from("42")),
        ("language", Value::from(language)),
        ("rating", Value::from(mixed / 5 % 5 + 1)),
        ("created", Value::from(u64::from(number))),
        ("body", Value::from("x".repeat(200))),
    ]);
    Entry { entity: "comment".to_owned(), tenant: None, id: id(number), fields }
}

/// Builds a task whose due time is unrelated to its creation time.
fn task(number: u32, count: u32) -> Entry {
    let due = u64::from(number) * 7_368_787 % u64::from(count);
    let count = u64::from(count);
    let tags = [
        ("even", number.is_multiple_of(2)),
        ("early", due < count / 2),
        ("late", due >= count / 2),
        ("percent", mixed(number).is_multiple_of(100)),
        ("first", due < u64::from(AT_AN_END)),
        ("last", due >= count - u64::from(AT_AN_END)),
        ("rare", u64::from(number) % (count / 20) == count / 40),
    ];
    let tags = tags.into_iter().filter(|(_, has)| *has).map(|(tag, _)| (tag.into(), "yes".into()));
    let fields = Item::from([
        ("due", Value::from(due)),
        ("title", Value::from(format!("Task {number}"))),
        ("tags", Value::M(tags.collect())),
    ]);
    Entry { entity: "task".to_owned(), tenant: None, id: id(number), fields }
}

fn id(number: u32) -> String {
    format!("{number:010}")
}

fn mixed(number: u32) -> u64 {
    u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}
