//! Notes filtered by words, in Keyloom and elsewhere; and what a search costs writers.

use keyloom::{Db, Entry, Filter, Item, Value};
use pollster::block_on;

use crate::notes::{QUERIES, WordQuery, added, text};
use crate::peers;
use crate::study::{Study, Variant};
use crate::tasks::PAGE;

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

/// Compares the queries with those of other databases, and prints what a search costs.
pub(crate) fn report(notes: u32, is_alone: bool) {
    let study = Study {
        what: "notes",
        model: [MODEL, SEARCH].concat(),
        entry,
        queries: &QUERIES,
        text: |query| query.text,
        run,
        peers: &peers::OF_NOTES,
    };
    study.compare(notes, is_alone);
    let variants = [
        ("no search", ""),
        ("`prefixes = false`", WHOLE),
        ("words and their beginnings", SEARCH),
        ("`language = \"english\"`", STEMS),
    ];
    let variants = variants.map(|(name, search)| Variant { name, model: [MODEL, search].concat() });
    study.written(notes / 10, &variants);
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

fn entry(number: u32) -> Entry {
    let fields =
        Item::from([("text", Value::from(text(number))), ("added", Value::from(added(number)))]);
    Entry { entity: "note".to_owned(), tenant: None, id: format!("{number:010}"), fields }
}
