//! A page filtered by words costs about the same for rare and common words, at both ends of a list, and
//! for words that are not complete.

use std::sync::Arc;

use keyloom::{Db, Entry, Existing, Filter, ListQuery, Options};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine};
use crate::tag_bounds::leave_a_gap;

const MODEL: &str = r#"
[entity.note]
id = "given"
fields.text = "text"
fields.rank = "int"
search.words = { fields = "text" }
list.all = {}
list.ranked = { order = "-rank" }
"#;

const NOTES: usize = 3_000;
/// Chunks of 65,536 ordinals that have notes: before a gap and after it.
const CHUNKS: u64 = 2;
const PAGE: u64 = 20;

/// Every note has a word of its own, the words `common` and `even` or `odd`, and all numbers begin alike.
fn filled(store: &Arc<dyn Store>) -> Db {
    let options = Options { clock: Arc::new(ManualClock::new()), ..Options::default() };
    let db = block_on(Db::open_with(MODEL, store.clone(), options)).expect("it opens");
    let numbers: Vec<usize> = (0..NOTES).collect();
    for (batch, numbers) in numbers.chunks(50).enumerate() {
        if batch == 20 {
            leave_a_gap(&**store);
        }
        let entry = |number: &usize| {
            let text = format!("Common, n9{number:04}; {}", ["even", "odd"][number % 2]);
            let fields = json!({ "text": text, "rank": NOTES - number });
            let line = json!({ "entity": "note", "id": format!("n{number:04}"), "fields": fields });
            Entry::from_json(line.to_string().as_bytes()).expect("an entry")
        };
        block_on(db.import(numbers.iter().map(entry).collect(), Existing::Keep))
            .expect("they are imported");
    }
    db
}

/// Reads the first page and the total, and checks how much was read.
fn check(query: &ListQuery, (lists, matches): (u64, usize)) {
    let page = block_on(query.read()).expect("a page");
    assert_eq!(page.items.len(), matches.min(PAGE as usize), "{query:?}");
    // Sizes, each posting list in each chunk, entities by their ordinals or entries; and what is walked
    // along the list, or read of its column, before it is given up.
    let rows_max = lists * (1 + CHUNKS) + 2 * PAGE + 4 * PAGE + 60;
    assert!(page.read.rows <= rows_max, "{} rows for {query:?}", page.read.rows);
    assert_eq!(block_on(query.total()).expect("a total").count, matches as u64, "{query:?}");
}

#[test]
fn a_page_reads_a_few_posting_lists_whatever_the_words() {
    let store: Arc<dyn Store> = Arc::new(engine(&SimDisk::new(0)));
    let db = filled(&store);
    let cases = [
        ("n90000", 2, 1),
        ("n92999 ", 1, 1),
        ("common n92999", 3, 1),
        ("common", 2, NOTES),
        ("common even", 3, NOTES / 2),
        ("even odd ", 2, 0),
        // The beginning of 3,000 words, of 1,000, of 10, and of none.
        ("n9", 2, NOTES),
        ("even n92", 3, NOTES / 6),
        ("n9299", 2, 10),
        ("n929991", 2, 0),
        ("", 1, NOTES),
    ];
    for list in ["all", "ranked"] {
        for (text, lists, matches) in cases {
            let query = db.list("note", list).filter(Filter::search("words", text));
            check(&query, (lists + 1, matches));
            check(&query.backward(), (lists + 1, matches));
        }
        let query = db.list("note", list).filter(Filter::search("words", "even ").not());
        check(&query, (2, NOTES / 2));
    }
    assert_clean(&db);
}
