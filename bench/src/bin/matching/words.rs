//! Notes filtered by words, in Keyloom and elsewhere; and what a search costs writers.

use std::time::{Duration, Instant};

use keyloom::{Db, Entry, Filter, Item, Value};
use pollster::block_on;

use crate::kept::Kept;
use crate::measured::{Measured, median};
use crate::notes::{QUERIES, WordQuery, added, text};
use crate::tasks::PAGE;
use crate::{compare, peers};

const MODEL: &str = r#"
[entity.note]
fields.text  = "text"
fields.added = "time"
fields.tags  = "tags = {}"
list.newest  = { order = "-added" }
"#;

const SEARCH: &str = "search.words = { fields = \"text\" }\n";
const STEMS: &str = "search.words = { fields = \"text\", language = \"english\" }\n";
const WHOLE: &str = "search.words = { fields = \"text\", prefixes = false }\n";

/// Importing threads.
const SENDERS: u32 = 16;

/// Compares the queries with those of other databases, and prints what a search costs.
pub(crate) fn report(notes: u32, is_alone: bool) {
    let mut measured = vec![("Keyloom", measure(notes))];
    for (name, peer) in peers::OF_NOTES.into_iter().filter(|_| !is_alone) {
        eprintln!("{name}: {notes} notes are loaded");
        match peer(notes) {
            Ok(outcome) => measured.push((name, outcome)),
            Err(why) => eprintln!("{name} could not be measured: {why}"),
        }
    }
    println!("{notes} notes:\n");
    compare(notes, &measured, &QUERIES.map(|query| query.text));
    written(notes / 10);
}

fn measure(notes: u32) -> Measured {
    let (kept, load) = load(notes, SEARCH);
    let bytes = kept.settle();
    let queries = QUERIES.iter().map(|query| {
        let found = run(&kept.db, query);
        (found, median(|| run(&kept.db, query)))
    });
    let queries = queries.collect();
    Measured { load, bytes, queries }
}

fn load(notes: u32, search: &str) -> (Kept, Duration) {
    let kept = Kept::open(&format!("{MODEL}{search}"));
    let began = Instant::now();
    kept.import(notes, SENDERS, entry);
    let load = began.elapsed();
    (kept, load)
}

fn run(db: &Db, query: &WordQuery) -> u64 {
    // What follows a space is the beginning of a word.
    let wanted = format!("{} {}", query.words.join(" "), query.prefix.unwrap_or_default());
    let list = db.list("note", "newest").limit(PAGE as u32).filter(Filter::search("words", wanted));
    match query.is_total {
        true => block_on(list.total()).expect("it is counted").count,
        false => block_on(list.read()).expect("a page is read").items.len() as u64,
    }
}

/// Prints the speed of imports and the size of the data without a search and with one.
fn written(notes: u32) {
    println!("| search | notes/s | bytes a note |\n|---|---:|---:|");
    for (name, search) in [
        ("none", ""),
        ("`prefixes = false`", WHOLE),
        ("words and their beginnings", SEARCH),
        ("`language = \"english\"`", STEMS),
    ] {
        let (kept, load) = load(notes, search);
        let rate = f64::from(notes) / load.as_secs_f64();
        println!("| {name} | {rate:.0} | {} |", kept.settle() / u64::from(notes));
    }
    println!();
}

fn entry(number: u32) -> Entry {
    let fields =
        Item::from([("text", Value::from(text(number))), ("added", Value::from(added(number)))]);
    Entry { entity: "note".to_owned(), tenant: None, id: format!("{number:010}"), fields }
}
