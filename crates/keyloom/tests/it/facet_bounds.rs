//! A page filtered by facets costs about the same wherever its matches are: few or many, at the
//! start of a long list, at its end or scattered, from any cursor, in any order. Earlier, empty
//! pages preceded a rare value at the end of a long list.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom::explain::StoreRead;
use keyloom::{Db, Entry, Existing, Filter, ListQuery, MatchingUse, Options, Page};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine};

const MODEL: &str = r#"
[entity.comment]
id = "given"
fields.product = "text"
fields.language = "text"
fields.rating = "int 1..5"
fields.created = "int"
fields.score = "int"
list.newest = { by = "product", order = "-created", facets = ["language", "rating"] }
list.best = { by = "product", order = "-score", facets = ["rating", "language"] }
list.first = { by = "product", facets = ["language", "rating"] }
"#;

const COMMENTS: usize = 3_000;
const PAGE: usize = 20;
const PAGES: usize = 4;
/// Index entries of one combination that a page may read: its entities, and one more that shows
/// whether others follow.
const ENTRIES_MAX: u64 = PAGE as u64 + 1;
const SEEKS_MAX: usize = 8;
/// How far a list is scanned before its matches are searched for elsewhere.
const WALKED_MAX: u64 = 1_100;

/// The expected state of a comment.
#[derive(Clone)]
struct Comment {
    id: String,
    language: &'static str,
    rating: i64,
    created: i64,
    score: i64,
}

/// The values of comments depend on their position.
fn comments(seed: u64) -> Vec<Comment> {
    let mut random = Random::new(seed);
    let comment = |number: usize| {
        let language = match number {
            0..3 => "la",
            3..150 => "it",
            1_000..1_002 => "eo",
            2_998.. => "fr",
            // Two common values that do not overlap: all comments with one of them are older.
            _ if number < COMMENTS / 2 => "de",
            _ => "en",
        };
        // Only the oldest comments are excellent.
        let ratings = if number < COMMENTS / 5 { [1, 3, 5] } else { [1, 2, 4] };
        Comment {
            id: format!("c{number:05}"),
            language,
            rating: *random.pick(&ratings),
            created: number as i64 / 2,
            score: random.below(500) as i64,
        }
    };
    (0..COMMENTS).map(comment).collect()
}

fn fill(db: &Db, comments: &[Comment]) {
    // Where posting lists are rows, a comment has eleven rows.
    for some in comments.chunks(9) {
        let entry = |comment: &Comment| {
            let Comment { id, language, rating, created, score } = comment;
            let fields = json!({
                "product": "42", "language": language, "rating": rating,
                "created": created, "score": score,
            });
            let line = json!({ "entity": "comment", "id": id, "fields": fields }).to_string();
            Entry::from_json(line.as_bytes()).expect("an entry")
        };
        let entries = some.iter().map(entry).collect();
        block_on(db.import(entries, Existing::Keep)).expect("they are imported");
    }
}

/// The languages and ratings that pass; empty means all.
type FacetValues = (&'static [&'static str], &'static [i64]);

const FACET_VALUES: &[FacetValues] = &[
    (&["la"], &[]),
    (&["la"], &[5]),
    (&["it"], &[]),
    (&["it"], &[4]),
    (&["it"], &[5]),
    (&["eo", "fr"], &[]),
    (&["fr"], &[1, 2, 4]),
    (&["en"], &[]),
    (&["en"], &[2]),
    (&["de"], &[1, 2, 4]),
    (&["xx"], &[]),
    // Both are common, and no comment has both.
    (&["en"], &[5]),
    (&[], &[5]),
    (&[], &[2, 4]),
];

fn filter((languages, ratings): FacetValues) -> Filter {
    let any = |field: &str, values: Vec<keyloom::Value>| {
        Filter::any(values.into_iter().map(|value| Filter::facet(field, value)))
    };
    let languages = languages.iter().map(|value| keyloom::Value::from(*value)).collect::<Vec<_>>();
    let ratings = ratings.iter().map(|value| keyloom::Value::from(*value)).collect::<Vec<_>>();
    let tests = [("language", languages), ("rating", ratings)].into_iter();
    let tests = tests.filter(|(_, values)| !values.is_empty());
    Filter::all(tests.map(|(field, values)| any(field, values)))
}

fn expected(comments: &[Comment], list: &str, values: FacetValues) -> Vec<String> {
    let has = |comment: &&Comment| {
        (values.0.is_empty() || values.0.contains(&comment.language))
            && (values.1.is_empty() || values.1.contains(&comment.rating))
    };
    let mut passing: Vec<&Comment> = comments.iter().filter(has).collect();
    match list {
        "newest" => passing.sort_by_key(|comment| -comment.created),
        "best" => passing.sort_by_key(|comment| -comment.score),
        _ => {}
    }
    passing.iter().map(|comment| comment.id.clone()).collect()
}

/// How many combinations pass: of the named values, or else of all declared ratings and all
/// existing languages.
fn combinations(comments: &[Comment], (languages, ratings): FacetValues) -> u64 {
    let there: BTreeSet<&str> = comments.iter().map(|comment| comment.language).collect();
    let languages = if languages.is_empty() { there.len() } else { languages.len() };
    let ratings = if ratings.is_empty() { 5 } else { ratings.len() };
    (languages * ratings) as u64
}

#[test]
fn the_reads_of_a_page_by_facets_are_bounded() {
    for (seed, matching) in [(1, MatchingUse::Sets), (2, MatchingUse::Rows)] {
        check(Arc::new(engine(&SimDisk::new(0))), matching, seed);
    }
}

fn check(store: Arc<dyn Store>, matching: MatchingUse, seed: u64) {
    let options = Options { clock: Arc::new(ManualClock::new()), matching, ..Options::default() };
    let db = block_on(Db::open_with(MODEL, store, options)).expect("it opens");
    let comments = comments(seed);
    fill(&db, &comments);
    for list in ["newest", "best", "first"] {
        for values in FACET_VALUES {
            let mut ids = expected(&comments, list, *values);
            let bound = Bound::of(&comments, *values, list, matching);
            for is_backward in [false, true] {
                walk(&db, (list, *values, is_backward), &ids, &bound);
                ids.reverse();
            }
        }
    }
    assert_clean(&db);
}

/// Checks the content and the reads of the first pages.
fn walk(
    db: &Db,
    (list, values, is_backward): (&str, FacetValues, bool),
    ids: &[String],
    bound: &Bound,
) {
    let story = format!("{list} {values:?} backward: {is_backward}");
    let chunks: Vec<&[String]> = ids.chunks(PAGE).collect();
    let (mut after, mut number) = (None, 0);
    loop {
        let (watched, explained) = db.explained();
        let query = watched.list("comment", list).by("product", "42").filter(filter(values));
        let query: ListQuery = query.limit(PAGE as u32);
        let query = if is_backward { query.backward() } else { query };
        let query = match after.take() {
            Some(cursor) => query.after(cursor),
            None => query,
        };
        let page: Page = block_on(query.read()).expect("a page");
        let found: Vec<&str> = page.items.iter().map(keyloom::Record::id).collect();
        let chunk = chunks.get(number).copied().unwrap_or_default();
        assert_eq!(found, *chunk, "page {number} of {story}");
        bound.check(&explained.reads(), &format!("page {number} of {story}"));
        assert_eq!(page.next.is_some(), number + 1 < chunks.len(), "page {number} of {story}");
        let Some(next) = page.next.filter(|_| number + 1 < PAGES) else { return };
        (after, number) = (Some(next), number + 1);
    }
}

/// The maximum reads of a page.
struct Bound {
    combinations: u64,
    walked: u64,
}

impl Bound {
    fn of(comments: &[Comment], values: FacetValues, list: &str, matching: MatchingUse) -> Bound {
        // Without named languages, where sets give the number of matches, the list is tried first;
        // in order of creation, sets answer.
        let is_tried = values.0.is_empty() && matching == MatchingUse::Sets;
        let walked = match list {
            "first" if is_tried => COMMENTS as u64,
            _ if is_tried => WALKED_MAX,
            _ => 0,
        };
        Bound { combinations: combinations(comments, values), walked }
    }

    fn check(&self, reads: &[StoreRead], story: &str) {
        let in_indexes = reads.iter().filter(|read| read.index.is_some());
        let entries: u64 = in_indexes.clone().map(|read| read.rows).sum();
        let seeks = in_indexes.count();
        let own: u64 =
            reads.iter().filter(|read| read.call == "batch get").map(|read| read.rows).sum();
        // Finding each existing language reads one entry.
        let entries_max = self.combinations * (ENTRIES_MAX + 1) + self.walked + 1;
        assert!(entries <= entries_max, "{entries} entries: {story}: {reads:#?}");
        let seeks_max = self.combinations as usize * SEEKS_MAX + self.walked as usize / PAGE;
        assert!(seeks <= seeks_max, "{seeks} seeks: {story}: {reads:#?}");
        assert!(own <= ENTRIES_MAX, "{own} own rows: {story}: {reads:#?}");
    }
}

/// Long texts with a common prefix share a key part, which affects no page.
#[test]
fn long_facet_values_with_a_common_prefix_are_distinguished() {
    let model = "[entity.note]\nfields.topic = \"text\"\nfields.rank = \"int\"\n\
                 list.ranked = { order = \"rank\", facets = [\"topic\"] }\n";
    let alike = "é".repeat(40);
    let topics = [format!("{alike}a"), format!("{alike}b"), "é".repeat(24), "é".repeat(23)];
    for matching in [MatchingUse::Sets, MatchingUse::Rows] {
        let store = Arc::new(engine(&SimDisk::new(0)));
        let clock = Arc::new(ManualClock::new());
        let options = Options { clock, matching, ..Options::default() };
        let db = block_on(Db::open_with(model, store, options)).expect("it opens");
        for rank in 0..24 {
            let note = json!({ "topic": topics[rank % topics.len()], "rank": rank });
            block_on(db.create("note", &note)).expect("it is created");
        }
        for topic in &topics {
            for limit in 1..=7 {
                let list = db.list("note", "ranked").filter(Filter::facet("topic", topic.as_str()));
                let (mut found, mut after) = (0, None);
                loop {
                    let query = list.clone().limit(limit);
                    let query = match after.take() {
                        Some(cursor) => query.after(cursor),
                        None => query,
                    };
                    let page = block_on(query.read()).expect("a page");
                    assert!(!page.items.is_empty(), "no page is empty");
                    found += page.items.len();
                    let Some(next) = page.next else { break };
                    after = Some(next);
                }
                assert_eq!(found, 6, "{topic}, {limit} a page");
            }
        }
        assert_clean(&db);
    }
}
