//! Verification page by page, after a restart, from hostile positions, and during concurrent
//! writes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use keyloom::{Change, Db, Error, Finding, Problem, Repair};
use keyloom_store::{Delete, MemoryStore, Put, Sets, Store};
use keyloom_testkit::{Front, InFront, ManualClock, Random, SimDisk};
use keyloom_value::Item;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::contents::{raw_rows, table};
use crate::crash::{ROOMS, large_family};
use crate::rig::{assert_clean, each_store, engine, open};

/// Many boxes, of which the guards of a few are missing.
fn damaged(store: &Arc<dyn Store>, boxes: usize) -> Db {
    let db = block_on(open(ROOMS, store.clone()));
    block_on(db.create("room", &json!({"id": "hall", "name": "hall"}))).unwrap();
    for number in 0..boxes {
        let label = format!("b{number}");
        block_on(db.create("box", &json!({"id": label, "room": "hall", "label": label}))).unwrap();
    }
    let is_guard = |row: &Item| row.contains("O") && row.iter().count() == 3;
    for row in raw_rows(&**store).into_iter().filter(is_guard).step_by(50) {
        let key = ["PK", "SK"].map(|name| (name, row.get(name).unwrap().clone()));
        block_on(store.delete(Delete::new(&table(), key.into()))).unwrap();
    }
    db
}

#[test]
fn a_damaged_deletion_record_is_reported_and_does_not_prevent_opening() {
    each_store(|store| {
        drop(block_on(open(ROOMS, store.clone())));
        let mut task = keyloom_query::deletion_key("t").to_item();
        task.insert("state", "thinking");
        block_on(store.put(Put::new(&table(), task))).unwrap();
        let db = block_on(open(ROOMS, store));
        for repair in [Repair::No, Repair::Yes] {
            let findings = block_on(db.verify(repair, |_| {})).unwrap();
            let is_stray = |finding: &Finding| matches!(finding.problem, Problem::Stray { .. });
            assert!(findings.len() == 1 && findings.iter().all(is_stray), "{findings:?}");
        }
    });
}

/// Counts the calls of a store.
struct Calls {
    store: Arc<dyn Store>,
    count: AtomicUsize,
}

impl Front for Calls {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn before(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.count.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }

    fn sets(&self) -> Option<&dyn Sets> {
        None
    }
}

/// What a page of rows is compared with is read in batches, deltas of posting lists once.
#[test]
fn a_verification_reads_in_batches() {
    let model = format!("{ROOMS}\n[entity.card]\nfields.tags = \"tags = {{}}\"\nlist.all = {{}}\n");
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
    let calls = Arc::new(InFront(Calls { store: memory, count: AtomicUsize::new(0) }));
    let db = block_on(open(&model, calls.clone()));
    block_on(db.create("room", &json!({"id": "hall", "name": "hall"}))).unwrap();
    for number in 0..100 {
        let label = format!("b{number}");
        block_on(db.create("box", &json!({"id": label, "room": "hall", "label": label}))).unwrap();
        let tags = json!({"tags": {"number": label, "color": "red"}});
        block_on(db.create("card", &tags)).unwrap();
    }
    let rows = raw_rows(&*calls).len();
    assert!(rows > 500, "{rows}");
    calls.0.count.store(0, Ordering::Relaxed);
    assert_clean(&db);
    let count = calls.0.count.load(Ordering::Relaxed);
    assert!(count < 60, "{count} calls for {rows} rows");
}

#[test]
fn a_verification_resumes_after_a_restart_and_reports_everything_once() {
    each_store(|store| {
        let db = damaged(&store, 500);
        let mut whole = block_on(db.verify(Repair::No, |_| {})).unwrap();
        assert!(whole.len() > 5, "{whole:?}");
        let (mut found, mut from, mut pages, mut rows) = (vec![], None::<String>, 0, 0);
        loop {
            let db = block_on(open(ROOMS, store.clone()));
            let page = block_on(db.verify_page(Repair::No, from.as_deref())).unwrap();
            // Sets come after the rows.
            assert!(page.progress.rows >= rows && page.progress.rows <= page.progress.rows_total);
            rows = page.progress.rows;
            found.extend(page.findings);
            pages += 1;
            match page.next {
                None => break,
                next => from = next,
            }
        }
        assert!(pages > 2, "{pages}");
        assert_eq!(rows, raw_rows(&*store).len() as u64);
        let key = |finding: &Finding| finding.to_string();
        whole.sort_by_key(key);
        found.sort_by_key(key);
        assert_eq!(found, whole);
        block_on(db.verify(Repair::Yes, |_| {})).unwrap();
        assert_clean(&db);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_position_makes_a_verification_panic(text in "([0-9]{0,20}\\.[0-9a-fA-F]{0,8}\\.[0-9a-f]{0,8})|\\PC{0,20}") {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
        let db = block_on(open(ROOMS, store));
        match block_on(db.verify_page(Repair::Yes, Some(&text))) {
            Ok(page) => prop_assert!(page.findings.is_empty()),
            Err(Error::Unknown { .. } | Error::Store(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn hostile_positions_are_refused() {
    each_store(|store| {
        let db = damaged(&store, 3);
        let long = format!("0.{}.00", "00".repeat(3000));
        for text in
            ["", ".", "..", "1.00", "0..", "-1.00.00", "1.0.00", "1.00.00.00", "1.zz.00", &long]
        {
            let error = block_on(db.verify_page(Repair::No, Some(text)));
            let error = error.map(|page| page.next).expect_err("it is refused");
            assert!(matches!(error, Error::Unknown { .. } | Error::Store(_)), "{text}: {error}");
        }
        // The count was added to without being read.
        let page =
            block_on(db.verify_page(Repair::No, Some(&format!("{}.00.00", u64::MAX)))).unwrap();
        assert_eq!(page.progress.rows, u64::MAX);
    });
}

fn write_at_random(db: &Db, seed: u64) {
    let mut random = Random::new(seed);
    let mut number = 0;
    let mut any = |prefix: &str| format!("{prefix}{}", random.below(6));
    let mut step = || -> Result<(), Error> {
        number += 1;
        let (room, other, id) = (any("r"), any("r"), any("b"));
        block_on(async {
            match number % 7 {
                0 => {
                    db.put("room", &room, &json!({"name": any("n"), "next": other})).await.map(drop)
                }
                1 | 2 => {
                    let new = json!({"room": room, "label": any("l"), "weight": number});
                    db.put("box", &id, &new).await.map(drop)
                }
                3 => db.update("box", &id, &json!({"room": other})).await.map(drop),
                4 => db
                    .put("thing", &any("t"), &json!({"box": id, "name": any("x")}))
                    .await
                    .map(drop),
                5 => {
                    let note = json!({"about": room, "on": any("t")});
                    let changes = vec![
                        Change::put("note", &any("n"), &note)?,
                        Change::delete("thing", &any("t")),
                    ];
                    db.transact(changes).await.map(drop)
                }
                _ if number % 21 == 6 => db.delete("room", &room).await,
                _ => db.delete("box", &id).await,
            }
        })
    };
    for _ in 0..300 {
        match step() {
            Ok(())
            | Err(
                Error::NotFound { .. }
                | Error::TargetGone { .. }
                | Error::UniqueViolation { .. }
                | Error::SameTwice { .. }
                | Error::Contended,
            ) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn concurrent_writes_cause_no_false_findings() {
    let store: Arc<dyn Store> = Arc::new(engine(&SimDisk::new(0)));
    let db = block_on(open(ROOMS, store));
    large_family(&db);
    for room in 0..6 {
        block_on(db.put("room", &format!("r{room}"), &json!({"name": room.to_string()}))).unwrap();
    }
    let running = AtomicBool::new(true);
    let rounds = std::thread::scope(|scope| {
        let verifier = scope.spawn(|| {
            let mut rounds = 0;
            while running.load(Ordering::SeqCst) || rounds < 2 {
                let found = block_on(db.verify(Repair::No, |_| {})).expect("it verifies");
                // A deletion that another call has just canceled leaves tombstones for a moment.
                let others: Vec<String> = found
                    .iter()
                    .filter(|found| found.problem != Problem::StaleTombstone)
                    .map(ToString::to_string)
                    .collect();
                assert!(others.is_empty(), "{others:#?}");
                rounds += 1;
            }
            rounds
        });
        let writers: Vec<_> = (0..3)
            .map(|seed| {
                let db = &db;
                scope.spawn(move || write_at_random(db, seed))
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        running.store(false, Ordering::SeqCst);
        verifier.join().expect("no panic")
    });
    assert!(rounds > 1);
    assert_clean(&db);
}
