//! A page has a cursor `next` exactly if something follows, and `previous` exactly if something
//! precedes, whatever the filter, the order, the strategy and the page size. Earlier, a full last
//! page had a `next` that led to an empty page.

use std::sync::Arc;

use keyloom::{Db, Filter, ListQuery, MatchingUse, Options, Page, Strategy};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::rig::each_store;

const MODEL: &str = r#"
[entity.comment]
fields.language = "enum(en, fr, it)"
fields.rating = "int 1..5"
fields.created = "int 0.."
fields.tags = "tags = {}"
list.all = { facets = ["language", "rating"] }
list.newest = { order = "-created", facets = ["language", "rating"] }
"#;

const COMMENTS: i64 = 120;

/// The expected state of a comment.
struct Comment {
    id: String,
    language: &'static str,
    rating: i64,
    created: i64,
    is_red: bool,
}

/// Only the oldest are in `it`, so they are at one end of every order.
fn fill(db: &Db) -> Vec<Comment> {
    let mut random = Random::new(7);
    let comment = |number: i64| {
        let language = if number < 12 { "it" } else { *random.pick(&["en", "fr"]) };
        let rating = 1 + i64::from(random.below(5) as u8);
        let is_red = random.chance(1, 3);
        let created = number / 3;
        let tags = if is_red { json!({ "color": "red" }) } else { json!({}) };
        let document =
            json!({ "language": language, "rating": rating, "created": created, "tags": tags });
        let id = block_on(db.create("comment", &document)).expect("it is created").id().to_owned();
        Comment { id, language, rating, created, is_red }
    };
    (0..COMMENTS).map(comment).collect()
}

/// A filter, and the same as a predicate.
type Case = (fn() -> Filter, fn(&Comment) -> bool);

const CASES: &[Case] = &[
    (|| Filter::facet("language", "it"), |one| one.language == "it"),
    (|| Filter::facet("language", "en"), |one| one.language == "en"),
    (
        || Filter::all([Filter::facet("language", "it"), Filter::facet("rating", 4)]),
        |one| one.language == "it" && one.rating == 4,
    ),
    (
        || Filter::any([Filter::facet("rating", 5), Filter::facet("rating", 3)]),
        |one| one.rating == 5 || one.rating == 3,
    ),
    (|| Filter::tag("color", "red"), |one| one.is_red),
    (|| Filter::tag("color", "red").not(), |one| !one.is_red),
    (
        || Filter::all([Filter::tag("color", "red"), Filter::facet("language", "it")]),
        |one| one.is_red && one.language == "it",
    ),
];

const STRATEGIES: [Strategy; 4] =
    [Strategy::Cheapest, Strategy::Walk, Strategy::Merge, Strategy::Match];

#[test]
fn next_and_previous_are_present_exactly_if_something_follows_or_precedes() {
    for matching in [MatchingUse::Rows, MatchingUse::Sets] {
        each_store(|store| check_store(store, matching));
    }
}

fn check_store(store: Arc<dyn Store>, matching: MatchingUse) {
    let clock = Arc::new(ManualClock::new());
    let options = Options { clock, matching, ..Options::default() };
    let db = block_on(Db::open_with(MODEL, store, options)).expect("it opens");
    let comments = fill(&db);
    for list in ["all", "newest"] {
        for (filter, holds) in CASES {
            for is_reversed in [false, true] {
                let expected = expected(&comments, list, *holds, is_reversed);
                let sizes = (1..=expected.len() + 1).filter(|size| is_tried(*size, expected.len()));
                for (number, size) in sizes.enumerate() {
                    let strategy = STRATEGIES[number % STRATEGIES.len()];
                    let query = || {
                        let query = db.list("comment", list).filter(filter()).strategy(strategy);
                        let query = query.limit(u32::try_from(size).expect("a size"));
                        if is_reversed { query.backward() } else { query }
                    };
                    walk(&query, &expected, size);
                }
            }
        }
    }
}

/// Every divisor of the number of matches, and sizes with a short last page or only one page.
fn is_tried(size: usize, matches: usize) -> bool {
    size <= 3 || matches.is_multiple_of(size) || size + 1 >= matches
}

fn expected(
    comments: &[Comment],
    list: &str,
    holds: fn(&Comment) -> bool,
    is_reversed: bool,
) -> Vec<String> {
    let mut matching: Vec<&Comment> = comments.iter().filter(|one| holds(one)).collect();
    if list == "newest" {
        // Equal times are in order of creation.
        matching.sort_by_key(|one| -one.created);
    }
    if is_reversed {
        matching.reverse();
    }
    matching.into_iter().map(|one| one.id.clone()).collect()
}

/// Walks to the last page and back to the first.
fn walk(query: &dyn Fn() -> ListQuery, expected: &[String], size: usize) {
    let ids =
        |page: &Page| -> Vec<String> { page.items.iter().map(|one| one.id().to_owned()).collect() };
    let mut chunks: Vec<&[String]> = expected.chunks(size).collect();
    if chunks.is_empty() {
        chunks.push(&[]);
    }
    let mut page = block_on(query().read()).expect("a page");
    assert!(page.previous.is_none(), "nothing precedes the first page");
    for (number, chunk) in chunks.iter().enumerate() {
        assert_eq!(ids(&page), *chunk, "page {number} of size {size}");
        assert_eq!(page.next.is_some(), number + 1 < chunks.len(), "page {number} of size {size}");
        if let Some(next) = page.next.clone() {
            page = block_on(query().after(next).read()).expect("a page");
        }
    }
    for (number, chunk) in chunks.iter().enumerate().rev().skip(1) {
        let previous = page.previous.clone().expect("something precedes");
        page = block_on(query().before(previous).read()).expect("a page");
        assert_eq!(ids(&page), *chunk, "back to page {number} of size {size}");
        assert_eq!(page.previous.is_some(), number > 0, "back to page {number} of size {size}");
    }
}
