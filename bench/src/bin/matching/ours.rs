//! Tasks in Keyloom: taken in as `keyloom import` does it, asked for through the library.

use std::time::Instant;

use keyloom::{Db, Entry, Item, ListQuery, Value};
use pollster::block_on;

use crate::kept::Kept;
use crate::measured::{Measured, median};
use crate::tasks::{Answer, PAGE, QUESTIONS, Question, name, tags};

pub(crate) const MODEL: &str = "
[entity.task]
fields.name = \"text\"
fields.tags = \"tags = {}\"
list.all = {}
";

/// Threads that send transactions.
const SENDERS: u32 = 16;

/// Takes tasks in, and asks everything.
pub(crate) fn measure(tasks: u32) -> Measured {
    let kept = Kept::open(MODEL);
    let began = Instant::now();
    kept.import(tasks, SENDERS, |number| entry(number, tasks));
    let bytes = kept.settle();
    let load = began.elapsed();
    let questions = QUESTIONS.iter().map(|question| {
        let found = ask(&kept.db, question);
        (found, median(|| ask(&kept.db, question)))
    });
    let questions = questions.collect();
    Measured { load, bytes, questions }
}

fn ask(db: &Db, question: &Question) -> u64 {
    let mut query = db.list("task", "all").limit(PAGE as u32);
    for (key, value) in question.tags {
        query = query.tag(key, value);
    }
    match question.answer {
        Answer::Total => block_on(query.total()).expect("it is counted").count,
        Answer::Oldest => page(query),
        Answer::Newest => page(query.backward()),
    }
}

fn page(query: ListQuery) -> u64 {
    block_on(query.read()).expect("a page is read").items.len() as u64
}

fn entry(number: u32, tasks: u32) -> Entry {
    let tags = Item::from(tags(number, tasks).map(|(key, value)| (key, Value::from(value))));
    let fields = Item::from([("name", Value::from(name(number))), ("tags", Value::M(tags))]);
    Entry { entity: "task".to_owned(), tenant: None, id: format!("{number:010}"), fields }
}
