//! A page filtered by tags costs about the same in every order, wherever its matches are: few or
//! many, at the start of a long list, at its end or scattered, from any cursor. Earlier, empty
//! pages preceded a common tag whose matches were all at the end of a list.

use std::sync::Arc;

use keyloom::explain::StoreRead;
use keyloom::{Db, Entry, Existing, Filter, ListQuery, Options, Page};
use keyloom_store::{Scan, Store, TableName, UpdateItem};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use keyloom_value::{Item, Path, Update, Value};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine};

const MODEL: &str = r#"
[entity.task]
id = "given"
fields.due = "int"
fields.priority = "int 1..3"
fields.title = "text"
fields.path = "text"
fields.tags = "tags = {}"
list.first_due = { order = "due" }
list.last_due = { order = "-due" }
list.urgent = { order = ["-priority", "due"] }
list.by_title = { order = "title" }
list.by_path = { order = "path" }
"#;

const TASKS: usize = 3_000;
const PAGE: usize = 20;
const PAGES: usize = 3;
/// The number of unused ordinals between the first tasks and the last.
const GAP: u64 = 1 << 33;
/// Chunks of 65,536 ordinals that have tasks: before the gap and after it.
const CHUNKS: u64 = 2;
/// How far a list is scanned before its matches are searched for elsewhere.
const WALKED_MAX: u64 = 700;

/// The expected state of a task.
#[derive(Clone)]
struct Task {
    id: String,
    due: i64,
    priority: i64,
    title: String,
    path: String,
    tags: Vec<&'static str>,
}

/// The tags of tasks depend on when they are due.
fn tasks(random: &mut Random) -> Vec<Task> {
    let mut order: Vec<usize> = (0..TASKS).collect();
    for at in (1..TASKS).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    let task = |(number, due): (usize, usize)| {
        let mut tags = vec![if number % 2 == 0 { "even" } else { "odd" }];
        tags.extend((due < 400).then_some("early"));
        tags.extend((due >= TASKS / 2).then_some("late"));
        tags.extend((due % 1_400 == 7).then_some("rare"));
        tags.extend(random.chance(1, 20).then_some("scattered"));
        Task {
            id: format!("t{number:05}"),
            due: due as i64,
            priority: 1 + random.below(3) as i64,
            title: format!("{due:05} title"),
            // They share a prefix that is longer than a column stores.
            path: format!("https://tasks.example.org/folders/{:05}", TASKS - due),
            tags,
        }
    };
    order.into_iter().enumerate().map(task).collect()
}

fn fill(db: &Db, store: &dyn Store, tasks: &[Task]) {
    for (number, some) in tasks.chunks(50).enumerate() {
        if number == 20 {
            leave_a_gap(store);
        }
        let entry = |task: &Task| {
            let Task { id, due, priority, title, path, tags } = task;
            let tags: serde_json::Map<String, serde_json::Value> =
                tags.iter().map(|tag| ((*tag).to_owned(), json!("yes"))).collect();
            let fields = json!({
                "due": due, "priority": priority, "title": title, "path": path, "tags": tags,
            });
            let line = json!({ "entity": "task", "id": id, "fields": fields }).to_string();
            Entry::from_json(line.as_bytes()).expect("an entry")
        };
        let entries = some.iter().map(entry).collect();
        block_on(db.import(entries, Existing::Keep)).expect("they are imported");
    }
}

/// Continues ordinals far beyond those in use, as if there had been many tasks.
pub(crate) fn leave_a_gap(store: &dyn Store) {
    let table = TableName::new("keyloom").expect("a name");
    let rows = block_on(store.scan(Scan::new(&table))).expect("rows").items;
    let counter = rows.iter().find(|row| row.get("next").is_some()).expect("a row of ordinals");
    let key: Item =
        ["PK", "SK"].map(|name| (name, counter.get(name).cloned().expect("a key"))).into();
    let add = Update::new().add(Path::from("next"), Value::from(GAP));
    block_on(store.update(UpdateItem::new(&table, key, add))).expect("it is written");
}

/// A filter, the same as a predicate, and how many posting lists it combines.
type Case = (fn() -> Filter, fn(&Task) -> bool, u64);

fn has(task: &Task, tag: &str) -> bool {
    task.tags.contains(&tag)
}

const CASES: &[Case] = &[
    (|| Filter::tag("early", "yes"), |task| has(task, "early"), 1),
    (|| Filter::tag("late", "yes"), |task| has(task, "late"), 1),
    (|| Filter::tag("rare", "yes"), |task| has(task, "rare"), 1),
    (|| Filter::tag("scattered", "yes"), |task| has(task, "scattered"), 1),
    (|| Filter::tag("late", "yes").not(), |task| !has(task, "late"), 2),
    // Both are common, and no task has both.
    (|| Filter::all([Filter::tag("odd", "yes"), Filter::tag("even", "yes")]), |_| false, 2),
    (
        || Filter::all([Filter::tag("late", "yes"), Filter::tag("odd", "yes")]),
        |task| has(task, "late") && has(task, "odd"),
        2,
    ),
    (
        || Filter::all([Filter::has_tag("early"), Filter::tag("odd", "yes").not()]),
        |task| has(task, "early") && !has(task, "odd"),
        2,
    ),
    (
        || Filter::any([Filter::tag("rare", "yes"), Filter::tag("early", "yes")]),
        |task| has(task, "rare") || has(task, "early"),
        2,
    ),
];

/// A list, and its order.
type Order = (&'static str, fn(&mut Vec<&Task>), bool);

/// Whether pages of it are bounded: not if sort keys share a prefix longer than a column stores.
const ORDERS: &[Order] = &[
    ("first_due", |tasks| tasks.sort_by_key(|task| task.due), true),
    ("last_due", |tasks| tasks.sort_by_key(|task| -task.due), true),
    ("urgent", |tasks| tasks.sort_by_key(|task| (-task.priority, task.due)), true),
    ("by_title", |tasks| tasks.sort_by_key(|task| task.title.clone()), true),
    ("by_path", |tasks| tasks.sort_by_key(|task| task.path.clone()), false),
];

#[test]
fn the_reads_of_a_page_by_tags_are_bounded() {
    let store = Arc::new(engine(&SimDisk::new(0)));
    let options = Options { clock: Arc::new(ManualClock::new()), ..Options::default() };
    let db = block_on(Db::open_with(MODEL, store.clone(), options)).expect("it opens");
    let mut random = Random::new(3);
    let tasks = tasks(&mut random);
    fill(&db, &*store, &tasks);
    check(&db, &tasks);
    // Tasks that moved are found at their new position, and deleted ones are not found.
    let tasks = change(&db, tasks, &mut random);
    check(&db, &tasks);
    assert_clean(&db);
}

fn change(db: &Db, mut tasks: Vec<Task>, random: &mut Random) -> Vec<Task> {
    for _ in 0..300 {
        let at = random.below(tasks.len() as u64) as usize;
        if random.chance(1, 3) {
            let gone = tasks.swap_remove(at);
            block_on(db.delete("task", &gone.id)).expect("it is deleted");
        } else {
            let task = &mut tasks[at];
            // No two are due at the same time, so the order is known.
            task.due = if random.chance(1, 2) { task.due + 10_000 } else { -task.due - 1 };
            block_on(db.update("task", &task.id, &json!({ "due": task.due })))
                .expect("it is moved");
        }
    }
    tasks
}

fn check(db: &Db, tasks: &[Task]) {
    for (list, sort, is_bounded) in ORDERS {
        for (number, (filter, passes, lists)) in CASES.iter().enumerate() {
            let mut passing: Vec<&Task> = tasks.iter().filter(|task| passes(task)).collect();
            sort(&mut passing);
            let mut ids: Vec<&str> = passing.iter().map(|task| task.id.as_str()).collect();
            for is_backward in [false, true] {
                let story = format!("{list}, filter {number}, backward: {is_backward}");
                let bound = is_bounded.then_some(*lists);
                walk(db, (list, filter(), is_backward), &ids, (&story, bound));
                ids.reverse();
            }
        }
    }
}

/// Checks the content and the reads of the first pages.
fn walk(
    db: &Db,
    (list, filter, is_backward): (&str, Filter, bool),
    ids: &[&str],
    (story, lists): (&str, Option<u64>),
) {
    let chunks: Vec<&[&str]> = ids.chunks(PAGE).collect();
    let (mut after, mut number) = (None, 0);
    loop {
        let (watched, explained) = db.explained();
        let query: ListQuery = watched.list("task", list).filter(filter.clone()).limit(PAGE as u32);
        let query = if is_backward { query.backward() } else { query };
        let query = match after.take() {
            Some(cursor) => query.after(cursor),
            None => query,
        };
        let page: Page = block_on(query.read()).expect("a page");
        let found: Vec<&str> = page.items.iter().map(keyloom::Record::id).collect();
        let story = format!("page {number} of {story}");
        assert_eq!(found, *chunks.get(number).copied().unwrap_or_default(), "{story}");
        assert_eq!(page.next.is_some(), number + 1 < chunks.len(), "{story}");
        if let Some(lists) = lists {
            check_bound(&explained.reads(), lists, &story);
        }
        let Some(next) = page.next.filter(|_| number + 1 < PAGES) else { return };
        (after, number) = (Some(next), number + 1);
    }
}

/// A page reads: of each posting list and of the column, one part for 65,536 ordinals; entries of
/// the list as far as it is scanned, and one for each entity; the entities.
fn check_bound(reads: &[StoreRead], lists: u64, story: &str) {
    let rows = |call: &str| -> u64 {
        reads.iter().filter(|read| read.call == call).map(|read| read.rows).sum()
    };
    let pages_tried = WALKED_MAX / (2 * PAGE as u64);
    let parts_max = lists * CHUNKS * (1 + pages_tried);
    assert!(rows("read set") <= parts_max, "{} parts: {story}: {reads:#?}", rows("read set"));
    assert!(rows("read column") <= CHUNKS, "{story}: {reads:#?}");
    assert!(rows("batch get") <= PAGE as u64 + 1, "{story}: {reads:#?}");
    let entries: u64 = reads.iter().filter(|read| read.index.is_some()).map(|read| read.rows).sum();
    assert!(entries <= WALKED_MAX + 2 * PAGE as u64, "{entries} entries: {story}: {reads:#?}");
}
