//! Counts and boards: the figures of a product page, with one writer and many, and while they are
//! built.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use keyloom::{Db, Error, Number, Ranked, Value};
use keyloom_store::{Answer, Store, TransactWrite};
use keyloom_testkit::{Front, InFront, ManualClock, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, each_store, engine, memory_store_at, open, open_at};

const COMMENTS: &str = include_str!("../../../../apps/comments/model.toml");

/// Without counts and boards, which are added later.
const PLAIN: &str = r#"
[entity.comment]
id = "given"
fields.product  = "text"
fields.language = "text"
fields.rating   = "int 1..5"
"#;

const COUNTED: &str = r#"
[entity.comment]
id = "given"
fields.product  = "text"
fields.language = "text"
fields.rating   = "int 1..5"
count.by_product = { by = "product", split = ["language", "rating"], shards = 4 }
board.leaders    = { of = "product", where = { rating = 5 } }
board.best       = { rank = "rating", by = "language" }
"#;

fn comment(db: &Db, product: &str, language: &str, rating: i64) -> String {
    let comment = json!({"product": product, "language": language, "rating": rating, "body": ""});
    block_on(db.create("comment", &comment)).expect("a comment").id().to_owned()
}

fn ranked(rank: u64, score: i64, of: &str) -> Ranked {
    Ranked { rank, score: Number::from(score), of: Value::from(of), is_settling: false }
}

/// The number of comments of a product, by rating.
fn by_rating(db: &Db, product: &str, language: Option<&str>) -> Vec<(i64, u64)> {
    let mut query = db.count("comment", "by_product").by("product", product).split("rating");
    if let Some(language) = language {
        query = query.only("language", language);
    }
    let counts = block_on(query.read()).expect("the count is read");
    let rating = |values: &keyloom::Item| values.get("rating").and_then(Value::as_n)?.to_i64();
    counts.items.iter().map(|item| (rating(&item.values).expect("a rating"), item.count)).collect()
}

fn total(db: &Db, product: &str, language: Option<&str>) -> u64 {
    let query = db.count("comment", "by_product").by("product", product);
    let query = match language {
        Some(language) => query.only("language", language),
        None => query,
    };
    block_on(query.total()).expect("the count is read")
}

/// Counters are stored by the fields of `split` in their order: values of the first fields bound
/// the range that is read; what values of later ones leave out is skipped where many rows are.
#[test]
fn values_of_the_first_split_fields_bound_the_rows_read() {
    let db = block_on(open(COMMENTS, Arc::new(memory_store_at(&ManualClock::new()))));
    for language in 0..7 {
        for rating in 1..=5 {
            comment(&db, "42", &format!("l{language}"), rating);
        }
    }
    let of = || db.count("comment", "by_product").by("product", "42");
    let read = |query: keyloom::CountQuery| {
        let counts = block_on(query.read()).expect("the count is read");
        (counts.items.len(), counts.read.rows)
    };
    assert_eq!(read(of().only("language", "l3").split("rating")), (5, 5));
    assert_eq!(read(of().only("language", "l3").only("rating", 2)), (1, 1));
    assert_eq!(read(of().split("language")), (7, 7));
    assert_eq!(read(of().only("rating", 2).split("language")), (7, 29));
}

/// The figures that a product page shows about its comments.
#[test]
fn the_figures_of_the_product_page_are_correct() {
    each_store(|store| {
        let db = block_on(open(COMMENTS, store));
        let en = [(5, 95), (4, 10), (3, 5), (2, 5), (1, 90)];
        let fr = [(5, 5), (3, 5), (1, 10)];
        for (language, numbers) in [("en", &en[..]), ("fr", &fr[..])] {
            for (rating, count) in numbers {
                (0..*count).for_each(|_| drop(comment(&db, "42", language, *rating)));
            }
        }
        (0..150).for_each(|_| drop(comment(&db, "43", "en", 5)));
        let all = [(1, 100), (2, 5), (3, 10), (4, 10), (5, 100)];
        assert_eq!(by_rating(&db, "42", None), all);
        assert_eq!(by_rating(&db, "42", Some("en")), [(1, 90), (2, 5), (3, 5), (4, 10), (5, 95)]);
        assert_eq!(by_rating(&db, "42", Some("fr")), [(1, 10), (3, 5), (5, 5)]);
        assert_eq!(by_rating(&db, "43", None), [(5, 150)]);
        assert_eq!((total(&db, "42", None), total(&db, "42", Some("en"))), (225, 205));
        assert_eq!((total(&db, "42", Some("fr")), total(&db, "43", None)), (20, 150));
        assert_eq!((total(&db, "44", None), total(&db, "42", Some("de"))), (0, 0));
        let leaders = block_on(db.board("leaders").read()).expect("the board is read");
        assert_eq!(leaders.items, [ranked(1, 150, "43"), ranked(2, 100, "42")]);
        assert_clean(&db);
    });
}

#[test]
fn a_changed_comment_is_recounted_and_a_product_without_comments_leaves_the_board() {
    each_store(|store| {
        let db = block_on(open(COMMENTS, store));
        let first = comment(&db, "42", "en", 5);
        let second = comment(&db, "42", "fr", 5);
        comment(&db, "43", "en", 4);
        block_on(db.update("comment", &first, &json!({"rating": 1}))).unwrap();
        assert_eq!(by_rating(&db, "42", None), [(1, 1), (5, 1)]);
        // An update without effect is not counted twice.
        block_on(db.update("comment", &first, &json!({"rating": 1}))).unwrap();
        block_on(db.update("comment", &first, &json!({"body": "other"}))).unwrap();
        assert_eq!(total(&db, "42", None), 2);
        let leaders = db.board("leaders");
        assert_eq!(block_on(leaders.rank("42")).unwrap(), Some(ranked(1, 1, "42")));
        block_on(db.delete("comment", &second)).unwrap();
        assert_eq!(block_on(leaders.rank("42")).unwrap(), None);
        assert_eq!(block_on(leaders.around("42")).unwrap(), None);
        assert!(block_on(leaders.read()).unwrap().items.is_empty());
        assert_eq!(by_rating(&db, "42", Some("fr")), []);
        assert_clean(&db);
    });
}

#[test]
fn sixteen_writers_of_one_counter_lose_no_update() {
    let db = block_on(open(COMMENTS, Arc::new(engine(&SimDisk::new(0)))));
    let start = Barrier::new(16);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (db, start) = (db.clone(), &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..20 {
                    let id = comment(&db, "42", "en", 5);
                    match (thread + round) % 4 {
                        0 => block_on(db.delete("comment", &id)).unwrap(),
                        1 => {
                            let lower = json!({"rating": 4});
                            drop(block_on(db.update("comment", &id, &lower)).unwrap());
                        }
                        _ => {}
                    }
                }
            });
        }
    });
    assert_eq!(by_rating(&db, "42", Some("en")), [(4, 80), (5, 160)]);
    let leaders = block_on(db.board("leaders").read()).expect("the board is read");
    assert_eq!(leaders.items, [ranked(1, 160, "42")]);
    assert_clean(&db);
}

/// A store that counts the transactions it receives.
struct Counting {
    store: Arc<dyn Store>,
    transactions: AtomicUsize,
}

impl Front for Counting {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.store.transact_write(transaction)
    }
}

/// Counters are added to in the commit batch, so no writer retries.
#[test]
fn concurrent_writers_of_one_ranked_value_need_no_retries() {
    let (store, transactions) = (Arc::new(engine(&SimDisk::new(0))), AtomicUsize::new(0));
    let counting = Arc::new(InFront(Counting { store, transactions }));
    let db = block_on(open(COMMENTS, counting.clone()));
    let (start, opening) = (Barrier::new(400), counting.0.transactions.swap(0, Ordering::Relaxed));
    assert!(opening > 0, "transactions are counted");
    std::thread::scope(|scope| {
        for _ in 0..400 {
            scope.spawn(|| {
                start.wait();
                comment(&db, "42", "en", 5);
                comment(&db, "42", "fr", 5);
            });
        }
    });
    assert_eq!(counting.0.transactions.load(Ordering::Relaxed), 800);
    let leaders = block_on(db.board("leaders").read()).expect("the board is read");
    assert_eq!(leaders.items, [ranked(1, 800, "42")]);
    assert_clean(&db);
}

#[test]
fn counts_and_boards_are_built_during_concurrent_writes() {
    let kept = Arc::new(engine(&SimDisk::new(0)));
    let store: Arc<dyn Store> = kept.clone();
    let plain = block_on(open(PLAIN, store.clone()));
    let made = |id: usize| {
        let (language, rating) = (["en", "fr"][id % 2], 1 + id % 5);
        json!({"id": format!("c{id}"), "product": format!("p{}", id % 7),
            "language": language, "rating": rating})
    };
    for id in 0..700 {
        block_on(plain.create("comment", &made(id))).unwrap();
    }
    let db = block_on(open(COUNTED, store));
    let building = block_on(db.count("comment", "by_product").by("product", "p1").total());
    assert!(matches!(building, Err(Error::Building { .. })), "{building:?}");
    let building = block_on(db.board("leaders").read());
    assert!(matches!(building, Err(Error::Building { .. })), "{building:?}");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = db.clone();
            scope.spawn(move || {
                for id in (thread..700).step_by(4) {
                    let name = format!("c{id}");
                    match id % 3 {
                        0 => block_on(db.delete("comment", &name)).unwrap(),
                        1 => {
                            let patch = json!({"product": "p0", "rating": 5});
                            drop(block_on(db.update("comment", &name, &patch)).unwrap());
                        }
                        _ => drop(block_on(db.create("comment", &made(id + 700))).unwrap()),
                    }
                }
            });
        }
        block_on(db.backfill(|_| {})).expect("it is written anew");
    });
    assert_clean(&db);
    let all: u64 = (0..7).map(|product| total(&db, &format!("p{product}"), None)).sum();
    assert_eq!(all, 700 - 234 + 233);
    // The index of boards is built in the background.
    kept.checkpoint().expect("a checkpoint");
    kept.settle().expect("indexes are filled");
    let best = block_on(db.board("best").by("language", "en").limit(1).read()).unwrap();
    assert_eq!(best.items[0].score, Number::from(5));
}

#[test]
fn large_cascades_and_expiry_update_counts() {
    const MODEL: &str = r#"
        [entity.product]
        id = "given"

        [entity.comment]
        parent = "product"
        on_parent_delete = "cascade"
        fields.rating = "int"
        fields.until = "time?"
        expires = "until"
        count.all = { split = "rating" }
        count.of = { by = "product" }
        board.rated = { rank = "rating" }
        board.leaders = { of = "product" }
    "#;
    let clock = ManualClock::new();
    let db = block_on(open_at(MODEL, Arc::new(memory_store_at(&clock)), &clock));
    for product in ["a", "b"] {
        block_on(db.create("product", &json!({"id": product}))).unwrap();
    }
    for number in 0..240 {
        let product = if number % 3 == 0 { "b" } else { "a" };
        let until = (number % 2 == 0).then_some(1000);
        let comment = json!({"product": product, "rating": number % 4, "until": until});
        block_on(db.create("comment", &comment)).unwrap();
    }
    let all = || block_on(db.count("comment", "all").total()).unwrap();
    assert_eq!(all(), 240);
    block_on(db.delete("product", "a")).unwrap();
    assert_eq!(all(), 80);
    let leaders = block_on(db.board("leaders").read()).unwrap();
    assert_eq!(leaders.items, [ranked(1, 80, "b")]);
    clock.advance_ms(2000);
    while block_on(db.expire(100)).unwrap() > 0 {}
    assert_eq!(all(), 40);
    assert_eq!(block_on(db.count("comment", "of").by("product", "b").total()).unwrap(), 40);
    assert_clean(&db);
}

#[test]
fn invalid_count_and_board_queries_are_errors() {
    let db = block_on(open(COMMENTS, Arc::new(engine(&SimDisk::new(0)))));
    let said = |error: Error| error.to_string();
    let count = |name: &str| db.count("comment", name);
    let mut lines = vec![];
    lines.push(said(block_on(count("by_prodct").total()).unwrap_err()));
    lines.push(said(block_on(count("by_product").total()).unwrap_err()));
    let of = count("by_product").by("product", "42");
    lines.push(said(block_on(of.clone().only("body", "x").total()).unwrap_err()));
    lines.push(said(block_on(of.clone().only("rating", "x").total()).unwrap_err()));
    let twice = of.clone().only("rating", 1).split("rating");
    lines.push(said(block_on(twice.read()).unwrap_err()));
    lines.push(said(block_on(of.clone().split("rating").limit(0).read()).unwrap_err()));
    lines.push(said(block_on(of.after("x").read()).unwrap_err()));
    lines.push(said(block_on(db.board("leader").read()).unwrap_err()));
    lines.push(said(block_on(db.board("leaders").by("rating", 1).read()).unwrap_err()));
    lines.push(said(block_on(db.board("leaders").rank(7)).unwrap_err()));
    lines.push(said(block_on(db.board("leaders").after("x").read()).unwrap_err()));
    crate::rig::assert_golden("counting", &(lines.join("\n") + "\n"));
}
