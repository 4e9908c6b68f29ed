//! Tasks in Keyloom: imported as by `keyloom import`, queried through the library.

use std::time::Instant;

use keyloom::{Db, Entry, Item, ListQuery, Value};
use pollster::block_on;

use crate::kept::Kept;
use crate::measured::{Measured, median};
use crate::tasks::{PAGE, QUERIES, ResultKind, TagQuery, name, tags};

pub(crate) const MODEL: &str = "
[entity.task]
fields.name = \"text\"
fields.tags = \"tags = {}\"
list.all = {}
";

/// Importing threads.
const SENDERS: u32 = 16;

/// Imports tasks and runs all queries.
pub(crate) fn measure(tasks: u32) -> Measured {
    let kept = Kept::open(MODEL);
    let began = Instant::now();
    kept.import(tasks, SENDERS, |number| entry(number, tasks));
    let bytes = kept.settle();
    let load = began.elapsed();
    let queries = QUERIES.iter().map(|query| {
        let found = run(&kept.db, query);
        (found, median(|| run(&kept.db, query)))
    });
    let queries = queries.collect();
    Measured { load, bytes, queries }
}

fn run(db: &Db, query: &TagQuery) -> u64 {
    let mut list = db.list("task", "all").limit(PAGE as u32);
    for (key, value) in query.tags {
        list = list.tag(key, value);
    }
    match query.result {
        ResultKind::Total => block_on(list.total()).expect("it is counted").count,
        ResultKind::Oldest => page(list),
        ResultKind::Newest => page(list.backward()),
    }
}

fn page(list: ListQuery) -> u64 {
    block_on(list.read()).expect("a page is read").items.len() as u64
}

fn entry(number: u32, tasks: u32) -> Entry {
    let tags = Item::from(tags(number, tasks).map(|(key, value)| (key, Value::from(value))));
    let fields = Item::from([("name", Value::from(name(number))), ("tags", Value::M(tags))]);
    Entry { entity: "task".to_owned(), tenant: None, id: format!("{number:010}"), fields }
}
