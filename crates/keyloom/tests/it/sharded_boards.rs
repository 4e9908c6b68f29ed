//! Counts and leaderboards with shards, on a store that processes share: counts and the scores of
//! single entries are exact at any moment; places follow when scores are settled.

use std::collections::BTreeMap;
use std::pin::Pin;

use keyloom::{Db, Error, Number, Ranked, Value};
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::rig::{findings, open_any, plain_store};

const MODEL: &str = r#"
[entity.comment]
id = "given"
fields.product  = "text"
fields.rating   = "int 1..5"
count.by_product = { by = "product", split = ["rating"], shards = 4 }
board.leaders    = { of = "product", where = { rating = 5 }, shards = 3 }
board.best       = { rank = "rating", by = "product", shards = 3 }
"#;

const PRODUCTS: [&str; 3] = ["a", "b", "c"];

/// Comments by id: product and rating.
type Naive = BTreeMap<String, (&'static str, i64)>;

async fn put(db: &Db, id: &str, product: &str, rating: i64) {
    let comment = json!({ "product": product, "rating": rating });
    // The clock of a test can run ahead of those who wait.
    while let Err(error) = db.put("comment", id, &comment).await {
        assert!(matches!(error, Error::Contended), "{error}");
    }
}

/// The score of each product, best first; equal ones by name.
fn leaders(naive: &Naive) -> Vec<(u64, i64, &'static str)> {
    let score = |product: &str| {
        naive.values().filter(|(of, rating)| *of == product && *rating == 5).count() as i64
    };
    let mut all: Vec<(i64, &'static str)> =
        PRODUCTS.iter().map(|product| (score(product), *product)).filter(|(n, _)| *n > 0).collect();
    all.sort_by_key(|(score, product)| (-score, *product));
    let rank = |score: i64| 1 + all.iter().filter(|(other, _)| *other > score).count() as u64;
    all.iter().map(|(score, product)| (rank(*score), *score, *product)).collect()
}

fn simple(ranked: &[Ranked]) -> Vec<(u64, i64, &str)> {
    let entry = |ranked: &'_ Ranked| {
        let of = match &ranked.of {
            Value::S(of) => PRODUCTS.iter().find(|product| *product == of).copied(),
            _ => None,
        };
        (ranked.rank, ranked.score.to_i64().expect("a score"), of.unwrap_or("?"))
    };
    ranked.iter().map(entry).collect()
}

fn score_of(db: &Db, product: &str) -> i64 {
    let ranked = block_on(db.board("leaders").rank(product)).expect("it is read");
    ranked.map_or(0, |ranked| ranked.score.to_i64().expect("a score"))
}

/// Everything that is exact at any moment, and what is once scores are settled.
fn check(db: &Db, naive: &Naive, seed: u64) {
    for product in PRODUCTS {
        let of = |rating: Option<i64>| {
            let is_it =
                |(of, given): &&(&str, i64)| *of == product && rating.is_none_or(|r| r == *given);
            naive.values().filter(is_it).count() as u64
        };
        let count = || db.count("comment", "by_product").by("product", product);
        assert_eq!(block_on(count().total()).expect("counted"), of(None), "seed {seed}");
        let split = block_on(count().split("rating").read()).expect("counted").items;
        let expected: Vec<(i64, u64)> =
            (1..=5).map(|r| (r, of(Some(r)))).filter(|(_, count)| *count > 0).collect();
        let found: Vec<(i64, u64)> = split
            .iter()
            .map(|item| {
                let rating = item.values.get("rating").and_then(Value::as_n);
                (rating.and_then(Number::to_i64).expect("a rating"), item.count)
            })
            .collect();
        assert_eq!(found, expected, "seed {seed}");
        assert_eq!(score_of(db, product) as u64, of(Some(5)), "{product}, seed {seed}");
        check_best(db, naive, product, seed);
    }
}

/// A board of entities is exact at any moment.
fn check_best(db: &Db, naive: &Naive, product: &str, seed: u64) {
    let mut expected: Vec<(i64, &str)> = naive
        .iter()
        .filter(|(_, (of, _))| *of == product)
        .map(|(id, (_, rating))| (*rating, id.as_str()))
        .collect();
    expected.sort_by_key(|(rating, id)| (-rating, *id));
    let (mut found, mut after) = (vec![], None::<String>);
    loop {
        let mut query = db.board("best").by("product", product).limit(3);
        if let Some(after) = after.take() {
            query = query.after(after);
        }
        let page = block_on(query.read()).expect("a page");
        found.extend(page.items);
        match page.next {
            None => break,
            next => after = next,
        }
    }
    let rank = |score: i64| 1 + expected.iter().filter(|(other, _)| *other > score).count() as u64;
    let expected: Vec<Ranked> = expected
        .iter()
        .map(|(score, id)| Ranked {
            rank: rank(*score),
            score: Number::from(*score),
            of: Value::from(*id),
            is_settling: false,
        })
        .collect();
    assert_eq!(found, expected, "seed {seed}");
    for ranked in &expected {
        let one = block_on(db.board("best").by("product", product).rank(ranked.of.clone()));
        assert_eq!(one.expect("it is read").as_ref(), Some(ranked), "seed {seed}");
    }
}

fn settle(db: &Db, clock: &ManualClock) {
    for _ in 0..4 {
        block_on(db.settle_scores()).expect("it is settled");
        clock.advance_ms(31_000);
    }
}

fn check_settled(db: &Db, naive: &Naive, seed: u64) {
    let page = block_on(db.board("leaders").read()).expect("a page");
    assert_eq!(simple(&page.items), leaders(naive), "seed {seed}");
    assert!(page.items.iter().all(|ranked| !ranked.is_settling), "seed {seed}");
}

#[test]
fn counts_are_exact_and_places_follow() {
    for seed in 0..8 {
        let (clock, mut random) = (ManualClock::new(), Random::new(seed));
        let store = plain_store(&clock);
        let db = open_any(MODEL, &store, &clock);
        let mut naive = Naive::new();
        for _ in 0..60 {
            let id = format!("c{}", random.below(12));
            let (product, rating) = (*random.pick(&PRODUCTS), 1 + random.below(5) as i64);
            if random.chance(1, 4) {
                if naive.remove(&id).is_some() {
                    block_on(db.delete("comment", &id)).expect("it is deleted");
                }
            } else {
                block_on(put(&db, &id, product, rating));
                naive.insert(id, (product, rating));
            }
            if random.chance(1, 6) {
                check(&db, &naive, seed);
                assert_eq!(block_on(findings(&db)), [""; 0], "seed {seed}");
            }
            if random.chance(1, 6) {
                settle(&db, &clock);
                check_settled(&db, &naive, seed);
            }
        }
        settle(&db, &clock);
        check(&db, &naive, seed);
        check_settled(&db, &naive, seed);
        assert_eq!(block_on(findings(&db)), [""; 0], "seed {seed}");
    }
}

#[test]
fn a_board_says_that_it_is_settling() {
    let clock = ManualClock::new();
    let db = open_any(MODEL, &plain_store(&clock), &clock);
    for id in ["1", "2", "3"] {
        block_on(put(&db, id, "a", 5));
    }
    let page = block_on(db.board("leaders").read()).expect("a page");
    assert_eq!((page.items, page.is_settling), (vec![], true));
    let one = block_on(db.board("leaders").rank("a")).expect("it is read").expect("it is there");
    assert_eq!((one.rank, one.score, one.is_settling), (1, Number::from(3), true));
    settle(&db, &clock);
    block_on(put(&db, "4", "b", 5));
    let page = block_on(db.board("leaders").read()).expect("a page").items;
    assert_eq!(simple(&page), [(1, 3, "a")]);
    assert!(page[0].is_settling);
    settle(&db, &clock);
    let page = block_on(db.board("leaders").read()).expect("a page").items;
    assert_eq!(simple(&page), [(1, 3, "a"), (2, 1, "b")]);
    assert!(!page[0].is_settling);
}

/// What runs at the same time.
type Running<'w> = Pin<Box<dyn Future<Output = Done> + 'w>>;

enum Done {
    Written(String, &'static str, i64),
    Settled,
    /// The score of the product whose comments nobody changes.
    Read(i64),
}

/// Two processes settle and others write, interleaved at every call of the store. Comments of one
/// product never change, so its score is the same at any moment, settled or not.
#[test]
fn settling_beside_writers_and_another_process_loses_nothing() {
    for seed in 0..40 {
        let (clock, mut random) = (ManualClock::new(), Random::new(seed));
        let plain = plain_store(&clock);
        let store = pausing(plain.clone());
        let dbs = [open_any(MODEL, &store, &clock), open_any(MODEL, &store, &clock)];
        let mut naive = Naive::new();
        for id in ["still1", "still2", "still3"] {
            block_on(put(&dbs[0], id, "c", 5));
            naive.insert(id.to_owned(), ("c", 5));
        }
        let mut running: Vec<(String, Running<'_>)> = vec![];
        for step in 0..600 {
            if running.len() < 4 && step < 500 {
                let db = &dbs[random.index(2)];
                let (name, work): (String, Running<'_>) = match random.below(4) {
                    0 => (
                        "settle".to_owned(),
                        Box::pin(async move {
                            db.settle_scores().await.expect("it is settled");
                            Done::Settled
                        }),
                    ),
                    1 => (
                        format!("read {step}"),
                        Box::pin(async move {
                            let ranked = db.board("leaders").rank("c").await.expect("it is read");
                            Done::Read(
                                ranked.map_or(0, |ranked| ranked.score.to_i64().unwrap_or(-1)),
                            )
                        }),
                    ),
                    _ => {
                        let id = format!("c{}", random.below(6));
                        let product = PRODUCTS[random.index(2)];
                        let rating = if random.chance(2, 3) { 5 } else { 1 };
                        let name = id.clone();
                        (
                            name,
                            Box::pin(async move {
                                put(db, &id, product, rating).await;
                                Done::Written(id, product, rating)
                            }),
                        )
                    }
                };
                let is_alone = name == "settle" || !running.iter().any(|(other, _)| *other == name);
                if is_alone {
                    running.push((name, work));
                }
            }
            if running.is_empty() {
                continue;
            }
            let place = random.index(running.len());
            if running[place].0 == "settle" && random.chance(1, 20) {
                drop(running.remove(place));
                continue;
            }
            let calls = *random.pick(&[1, 1, 2, 5, 40]);
            let done = (0..calls).find_map(|_| go_on(running[place].1.as_mut()));
            let Some(done) = done else { continue };
            drop(running.remove(place));
            match done {
                Done::Written(id, product, rating) => {
                    naive.insert(id, (product, rating));
                }
                Done::Settled => {}
                Done::Read(score) => assert_eq!(score, 3, "seed {seed}"),
            }
            if random.chance(1, 5) {
                clock.advance_ms(*random.pick(&[2_000, 31_000]));
            }
        }
        for (_, mut work) in running {
            let done = (0..100_000).find_map(|_| go_on(work.as_mut()));
            if let Some(Done::Written(id, product, rating)) = done {
                naive.insert(id, (product, rating));
            }
        }
        let db = open_any(MODEL, &plain, &clock);
        check(&db, &naive, seed);
        settle(&db, &clock);
        check(&db, &naive, seed);
        check_settled(&db, &naive, seed);
        assert_eq!(block_on(findings(&db)), [""; 0], "seed {seed}");
    }
}

/// Counters and boards move to other shards by a backfill, while others write and scores are settled, also
/// by a process that stops in the middle and goes on when the backfill is over.
#[test]
fn counts_and_boards_are_exact_after_their_shards_change() {
    for seed in 0..8 {
        let (clock, mut random) = (ManualClock::new(), Random::new(seed));
        let store = pausing(plain_store(&clock));
        let mut naive = Naive::new();
        for shards in ["", "4", "2", "7", ""] {
            let shards = match shards {
                "" => String::new(),
                number => format!(", shards = {number}"),
            };
            let model = MODEL.replace(", shards = 4", &shards).replace(", shards = 3", &shards);
            let db = open_any(&model, &store, &clock);
            for step in 0..30 {
                let id = format!("c{}", random.below(12));
                let (product, rating) = (*random.pick(&PRODUCTS), 4 + random.below(2) as i64);
                block_on(put(&db, &id, product, rating));
                naive.insert(id, (product, rating));
                if random.chance(1, 5) {
                    settle(&db, &clock);
                }
                if step == 15 {
                    let other = open_any(&model, &store, &clock);
                    clock.advance_ms(31_000);
                    let mut paused: Pin<Box<dyn Future<Output = ()> + '_>> = Box::pin(async {
                        other.settle_scores().await.expect("it is settled");
                    });
                    let calls = random.below(40);
                    let is_done = (0..calls).any(|_| go_on(paused.as_mut()).is_some());
                    block_on(db.backfill(|_| {})).expect("it is rebuilt");
                    if !is_done {
                        block_on(paused);
                    }
                }
            }
            check(&db, &naive, seed);
            settle(&db, &clock);
            check(&db, &naive, seed);
            check_settled(&db, &naive, seed);
            assert_eq!(block_on(findings(&db)), [""; 0], "seed {seed}");
        }
    }
}
