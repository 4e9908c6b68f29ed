//! A page filtered by a range costs about the same wherever its matches are, whatever the order of
//! the list; and who reads while values change sees each value whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyloom::{Db, Entry, Existing, Filter, ListQuery, Options};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine, engine_at};
use crate::tag_bounds::leave_a_gap;

const MODEL: &str = r#"
[entity.product]
id = "given"
filters = ["cents", "seller"]
fields.cents = "int"
fields.added = "int"
fields.seller = "text?"
list.all = { facets = ["seller"] }
list.newest = { order = "-added" }
"#;

const PRODUCTS: usize = 3_000;
/// Chunks of 65,536 ordinals that have products: before a gap and after it.
const CHUNKS: u64 = 2;
/// Slices of a value of four digits: its sign, its exponent, two pairs of digits, and an end, in bytes.
const SLICES: u64 = 5 * 8;
const PAGE: u64 = 20;

/// Product `number` costs its number in cents; those added last are the cheapest.
fn filled(store: &Arc<dyn Store>) -> Db {
    let options = Options { clock: Arc::new(ManualClock::new()), ..Options::default() };
    let db = block_on(Db::open_with(MODEL, store.clone(), options)).expect("it opens");
    let numbers: Vec<usize> = (0..PRODUCTS).collect();
    for (batch, numbers) in numbers.chunks(50).enumerate() {
        if batch == 20 {
            leave_a_gap(&**store);
        }
        let entry = |number: &usize| {
            let mut fields = json!({ "cents": number, "added": PRODUCTS - number });
            if !number.is_multiple_of(100) {
                fields["seller"] = json!("s");
            }
            let line =
                json!({ "entity": "product", "id": format!("p{number:04}"), "fields": fields });
            Entry::from_json(line.to_string().as_bytes()).expect("an entry")
        };
        block_on(db.import(numbers.iter().map(entry).collect(), Existing::Keep))
            .expect("they are imported");
    }
    db
}

/// Reads the first page and the total, and checks how much was read.
fn check(query: &ListQuery, matches: usize) {
    let page = block_on(query.read()).expect("a page");
    assert_eq!(page.items.len(), matches.min(PAGE as usize), "{query:?}");
    // Sizes, each slice in each chunk, entities by their ordinals or entries; and what is walked along
    // the list, or read of its column, before it is given up.
    let rows_max = (SLICES + 2) * (1 + CHUNKS) + 2 * PAGE + 4 * PAGE + 60;
    assert!(page.read.rows <= rows_max, "{} rows for {query:?}", page.read.rows);
    assert_eq!(block_on(query.total()).expect("a total").count, matches as u64, "{query:?}");
}

#[test]
fn a_page_of_a_range_reads_each_slice_once() {
    let store: Arc<dyn Store> = Arc::new(engine(&SimDisk::new(0)));
    let db = filled(&store);
    for list in ["all", "newest"] {
        let list = || db.list("product", list);
        check(&list().at_least("cents", 2_990), 10);
        check(&list().less_than("cents", 10), 10);
        check(&list().equal("cents", 1_500), 1);
        check(&list().at_least("cents", 1_000).at_most("cents", 1_999), 1_000);
        check(&list().more_than("cents", 5).backward(), 2_994);
        check(&list().at_least("cents", 3_000), 0);
        check(&list().filter(Filter::present("seller").not()), 30);
        let no_seller = list().filter(Filter::present("seller").not());
        check(&no_seller.at_least("cents", 2_900), 1);
    }
    assert_clean(&db);
}

/// From 9,999 to 10,000 most bits of a value change: a reader that saw some of them from before and some
/// from after would miss the product. So would one that looked for each of two sellers at another moment.
#[test]
fn an_entity_that_always_passes_is_always_found() {
    let store: Arc<dyn Store> = Arc::new(engine_at(&ManualClock::new()));
    let db = filled(&store);
    let put = |turn: usize| {
        let (cents, seller) = [(9_999, "one"), (10_000, "two")][turn % 2];
        let product = json!({ "cents": cents, "added": 0, "seller": seller });
        block_on(db.put("product", "changing", &product)).expect("it is written");
    };
    put(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 1..=400 {
                put(turn);
            }
            is_over.store(true, Ordering::Release);
        });
        let either = || db.list("product", "all").facet("seller", ["one", "two"]);
        let range =
            || db.list("product", "newest").at_least("cents", 9_000).at_most("cents", 11_000);
        while !is_over.load(Ordering::Acquire) {
            assert_eq!(block_on(range().read()).expect("a page").items.len(), 1);
            assert_eq!(block_on(range().total()).expect("a total").count, 1);
            assert_eq!(block_on(either().read()).expect("a page").items.len(), 1);
            assert_eq!(block_on(either().total()).expect("a total").count, 1);
        }
    });
}
