//! Idempotent changes: a repeated call returns the result of the first one, whatever has changed
//! since, with concurrent calls, and wherever a crash occurs.

use std::sync::Arc;

use keyloom::{Change, Db, Error, Idempotent, Problem, Record, Repair};
use keyloom_model::attribute::EXPIRY;
use keyloom_store::{Alteration, Put, Store};
use keyloom_testkit::pausing::{interleave, pausing, stop_after};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::{Item, Value};
use pollster::block_on;
use serde_json::json;

use crate::contents::{raw_rows, table};
use crate::crash::{ROOMS, large_family, small_family};
use crate::power::engine as engine_after_crash;
use crate::rig::{
    assert_clean, each_store, engine, engine_at, findings, memory_store_at, open, open_at,
};

const MODEL: &str = r#"
[entity.shop]
id = "given"
fields.name = "text"

[entity.order]
fields.item = "text"
fields.count = "int = 1"
fields.shop = "ref shop cascade?"
fields.note = "any?"

[entity.bill]
tenant = "firm"
fields.firm = "text"
fields.sum = "int"
"#;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn order(item: &str) -> Vec<Change> {
    vec![Change::create("order", &json!({"item": item})).unwrap()]
}

async fn now(db: &Db, key: &str, changes: Vec<Change>) -> Vec<Option<Record>> {
    match db.transact_idempotent(key, changes).await.expect("it happens") {
        Idempotent::Applied(records) => records,
        Idempotent::Replayed(records) => panic!("it has happened before: {records:?}"),
    }
}

async fn before(db: &Db, key: &str, changes: Vec<Change>) -> Vec<Option<Record>> {
    match db.transact_idempotent(key, changes).await.expect("it has happened") {
        Idempotent::Replayed(records) => records,
        Idempotent::Applied(records) => panic!("it happens again: {records:?}"),
    }
}

/// The number of own rows of a kind.
fn count(store: &dyn Store, field: &str) -> usize {
    raw_rows(store).iter().filter(|row| row.contains(field)).count()
}

fn receipts(store: &dyn Store) -> Vec<Item> {
    // Permits expire too.
    let is_receipt = |row: &Item| row.contains(EXPIRY) && !row.contains("epoch");
    raw_rows(store).into_iter().filter(is_receipt).collect()
}

#[test]
fn a_repeated_call_returns_the_first_result_and_writes_nothing() {
    each_store(|store| {
        block_on(async {
            let db = open(MODEL, store.clone()).await;
            let first = now(&db, "k", order("tea")).await;
            let rows = raw_rows(&*store);
            assert_eq!(before(&db, "k", order("tea")).await, first);
            assert!(raw_rows(&*store) == rows, "a repeat writes");
            assert_eq!(count(&*store, "item"), 1);
            assert_clean(&db);
        });
    });
}

#[test]
fn a_repeated_call_returns_the_first_result_even_if_the_entities_changed() {
    each_store(|store| {
        block_on(async {
            let db = open(MODEL, store.clone()).await;
            let first = now(&db, "k", order("tea")).await;
            let id = first[0].as_ref().unwrap().id().to_owned();
            let patch = || vec![Change::update("order", &id, &json!({"count": 2})).unwrap()];
            let second = now(&db, "l", patch()).await;
            db.delete("order", &id).await.unwrap();
            assert_eq!(before(&db, "k", order("tea")).await, first);
            assert_eq!(before(&db, "l", patch()).await, second);
            // Under a changed model, after a restart.
            let other = "[entity.first]\n".to_owned() + MODEL;
            let model = other.replace("fields.item", "fields.new = \"int = 7\"\nfields.item");
            let db = open(&model, store).await;
            db.backfill(|_| {}).await.unwrap();
            let again = before(&db, "k", order("tea")).await;
            assert_eq!(again[0].as_ref().unwrap().to_json(), first[0].as_ref().unwrap().to_json());
            assert_clean(&db);
        });
    });
}

#[test]
fn a_repeated_call_after_a_restart_returns_the_first_result() {
    let disk = SimDisk::new(0);
    let store = Arc::new(engine(&disk));
    let db = block_on(open(MODEL, store.clone()));
    let first = block_on(now(&db, "k", order("tea")));
    drop(db);
    Arc::into_inner(store).expect("nobody else has it").close().unwrap();
    let db = block_on(open(MODEL, Arc::new(engine(&disk))));
    assert_eq!(block_on(before(&db, "k", order("tea"))), first);
}

#[test]
fn a_key_is_bound_to_every_part_of_its_changes() {
    block_on(async {
        let store: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
        let db = open(MODEL, store.clone()).await;
        let shop = |id| Change::put("shop", id, &json!({"name": "a"})).unwrap();
        let first = || vec![shop("s"), Change::create("order", &json!({"item": "x"})).unwrap()];
        now(&db, "k", first()).await;
        let version = db.get("shop", "s").await.unwrap().unwrap().version().to_owned();
        let item = |document| Change::create("order", &document).unwrap();
        let others = [
            vec![shop("s")],
            vec![item(json!({"item": "x"})), shop("s")],
            vec![shop("t"), item(json!({"item": "x"}))],
            vec![shop("s").expecting(&version), item(json!({"item": "x"}))],
            vec![shop("s"), item(json!({"item": "y"}))],
            vec![shop("s"), item(json!({"item": "x", "count": 1}))],
            vec![shop("s"), item(json!({"item": "x", "note": null}))],
            vec![Change::delete("shop", "s"), item(json!({"item": "x"}))],
            vec![
                Change::update("shop", "s", &json!({"name": "a"})).unwrap(),
                item(json!({"item": "x"})),
            ],
        ];
        for other in others {
            let refused = db.transact_idempotent("k", other.clone()).await;
            assert!(matches!(&refused, Err(Error::KeyReused { key }) if key == "k"), "{other:?}");
        }
        before(&db, "k", first()).await;
        assert_eq!(count(&*store, "item"), 1);
    });
}

#[test]
fn failed_changes_leave_no_idempotency_record_and_can_be_repeated() {
    each_store(|store| {
        block_on(async {
            let db = open(MODEL, store.clone()).await;
            let changes = || {
                vec![Change::create("order", &json!({"item": "tea", "shop": "corner"})).unwrap()]
            };
            let failed = db.transact_idempotent("k", changes()).await;
            assert!(matches!(failed, Err(Error::TargetGone { .. })), "{failed:?}");
            assert!(receipts(&*store).is_empty());
            db.create("shop", &json!({"id": "corner", "name": "corner"})).await.unwrap();
            now(&db, "k", changes()).await;
        });
    });
}

#[test]
fn changes_without_effect_have_an_idempotency_record() {
    each_store(|store| {
        block_on(async {
            let db = open(MODEL, store).await;
            db.create("shop", &json!({"id": "s", "name": "a"})).await.unwrap();
            let same = || vec![Change::update("shop", "s", &json!({"name": "a"})).unwrap()];
            let first = now(&db, "k", same()).await;
            db.update("shop", "s", &json!({"name": "b"})).await.unwrap();
            assert_eq!(before(&db, "k", same()).await, first);
            assert_eq!(first[0].as_ref().unwrap().get("name"), Some(&Value::from("a")));
            now(&db, "nothing", vec![]).await;
            before(&db, "nothing", vec![]).await;
        });
    });
}

#[test]
fn an_idempotency_record_is_valid_for_a_day_and_then_removed_by_the_store() {
    let clock = ManualClock::new();
    let engine = Arc::new(engine_at(&clock));
    let db = block_on(open_at(MODEL, engine.clone(), &clock));
    block_on(async {
        let first = now(&db, "k", order("tea")).await;
        clock.advance_ms(DAY_MS);
        assert_eq!(before(&db, "k", order("tea")).await, first);
        clock.advance_ms(1000);
        // The row still exists and counts as expired, for other changes too.
        assert_eq!(receipts(&*engine).len(), 1);
        let second = now(&db, "k", order("milk")).await;
        assert_eq!(before(&db, "k", order("milk")).await, second);
        clock.advance_ms(DAY_MS + 1000);
        engine.settle().unwrap();
        assert_eq!(receipts(&*engine).len(), 0);
        assert_eq!(count(&*engine, "item"), 2);
        assert_clean(&db);
    });
}

#[test]
fn an_older_table_gets_its_time_to_live_when_it_is_opened() {
    each_store(|store| {
        block_on(async {
            drop(open(MODEL, store.clone()).await);
            store.alter_table(table(), Alteration::SetTtl(None)).await.unwrap();
            drop(open(MODEL, store.clone()).await);
            let described = store.describe_table(table()).await.unwrap();
            assert_eq!(described.spec.ttl, Some(EXPIRY.into()));
        });
    });
}

#[test]
fn tenants_do_not_see_each_others_keys() {
    each_store(|store| {
        block_on(async {
            let db = open(MODEL, store.clone()).await;
            let bill = |sum| vec![Change::create("bill", &json!({"sum": sum})).unwrap()];
            let dbs = [db.tenant("a"), db.tenant("b"), db.tenant("1"), db.tenant(1)];
            for db in &dbs[..3] {
                now(db, "k", bill(1)).await;
            }
            for db in &dbs[..3] {
                before(db, "k", bill(1)).await;
            }
            // Shared entities too.
            for db in dbs.iter().chain([&db]) {
                now(db, "shared", order("tea")).await;
            }
            assert_clean(&db);
            assert_eq!((count(&*store, "firm"), count(&*store, "item")), (3, 5));
        });
    });
}

#[test]
fn a_result_too_large_for_a_row_is_refused_before_anything_is_written() {
    each_store(|store| {
        block_on(async {
            let db = open(MODEL, store.clone()).await;
            db.create("shop", &json!({"id": "s", "name": "s"})).await.unwrap();
            let large = |bytes| {
                let note = "x".repeat(bytes);
                Change::create("order", &json!({"item": "tea", "note": note})).unwrap()
            };
            let rows = raw_rows(&*store);
            // The deletion would write tombstones first.
            let changes = vec![large(200_000), large(250_000), Change::delete("shop", "s")];
            let refused = db.transact_idempotent("k", changes).await;
            assert!(matches!(refused, Err(Error::AnswerTooLarge { .. })), "{refused:?}");
            assert!(raw_rows(&*store) == rows, "something was written");
            now(&db, "k", vec![large(200_000), large(190_000)]).await;
            now(&db, "l", vec![large(320 * 1024 - 100)]).await;
        });
    });
}

#[test]
fn as_many_changes_as_fit_beside_an_idempotency_record_are_applied() {
    block_on(async {
        let db = open(MODEL, Arc::new(memory_store_at(&ManualClock::new()))).await;
        let changes = |count| (0..count).flat_map(|_| order("x")).collect::<Vec<_>>();
        let refused = db.transact_idempotent("k", changes(100)).await;
        assert!(matches!(refused, Err(Error::TooLarge { rows: 101, .. })), "{refused:?}");
        // One row checks the permit of the process.
        let refused = db.transact_idempotent("k", changes(99)).await;
        assert!(matches!(refused, Err(Error::TooLarge { rows: 100, rows_max: 99 })), "{refused:?}");
        assert_eq!(now(&db, "k", changes(98)).await.len(), 98);
    });
}

#[test]
fn keys_have_1_to_255_bytes_of_any_text() {
    block_on(async {
        let db = open(MODEL, Arc::new(memory_store_at(&ManualClock::new()))).await;
        for key in ["", &"x".repeat(256), &"ü".repeat(128)] {
            let refused = db.transact_idempotent(key, order("tea")).await;
            assert!(matches!(refused, Err(Error::KeyUnfit { .. })), "{refused:?}");
        }
        for key in [" ", "\0", "x", &"x".repeat(255), "\u{10FFFF}"] {
            now(&db, key, order("tea")).await;
            before(&db, key, order("tea")).await;
        }
    });
}

#[test]
fn a_damaged_idempotency_record_is_reported_and_not_used() {
    each_store(|store| {
        block_on(async {
            let db = open(MODEL, store.clone()).await;
            now(&db, "k", order("tea")).await;
            let mut receipt = receipts(&*store).remove(0);
            receipt.insert("answers", 1);
            store.put(Put::new(&table(), receipt)).await.unwrap();
            let refused = db.transact_idempotent("k", order("tea")).await;
            assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
            for repair in [Repair::No, Repair::Yes] {
                let found = db.verify(repair, |_| {}).await.unwrap();
                assert!(
                    matches!(found[..], [ref one] if matches!(one.problem, Problem::Stray { .. }))
                );
            }
            assert_eq!(count(&*store, "item"), 1);
        });
    });
}

/// A fast call with the same key runs between any two steps of a slow one.
#[test]
fn two_concurrent_calls_are_applied_once_and_return_the_same_result() {
    for Script { setup, changes, stride } in SCRIPTS {
        for step in (0..).step_by(*stride) {
            let store: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
            let quick = block_on(open(ROOMS, store.clone()));
            setup(&quick);
            let slow = interleave(open(ROOMS, pausing(store)), |_| {});
            let mut other = None;
            let one = interleave(slow.transact_idempotent("k", changes()), |now| {
                if now == step {
                    other = Some(block_on(quick.transact_idempotent("k", changes())).unwrap());
                }
            });
            let Some(other) = other else { break };
            let answers = [one.unwrap(), other];
            let happened =
                answers.iter().filter(|answer| matches!(answer, Idempotent::Applied(_))).count();
            assert_eq!(happened, 1, "at step {step}: {answers:?}");
            let [one, other] = answers.map(Idempotent::records);
            assert_eq!(one, other);
            assert_clean(&quick);
        }
    }
}

#[test]
fn a_call_dropped_at_any_point_and_repeated_is_applied_once() {
    for Script { setup, changes, stride } in SCRIPTS {
        for polls in (1..).step_by(*stride) {
            let store: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
            let quick = block_on(open(ROOMS, store.clone()));
            setup(&quick);
            let slow = interleave(open(ROOMS, pausing(store)), |_| {});
            let done = stop_after(polls, slow.transact_idempotent("k", changes()));
            let again = block_on(quick.transact_idempotent("k", changes())).unwrap().records();
            assert_eq!(block_on(before(&quick, "k", changes())), again);
            assert_happened(&quick);
            if let Some(done) = done {
                assert_eq!(done.unwrap().records(), again);
                break;
            }
        }
    }
}

#[test]
fn a_call_interrupted_by_a_crash_and_repeated_is_applied_once() {
    for Script { setup, changes, .. } in SCRIPTS {
        let base = SimDisk::new(0);
        let store = Arc::new(engine_after_crash(&base).unwrap());
        setup(&block_on(open(ROOMS, store.clone())));
        Arc::into_inner(store).expect("nobody else has it").close().unwrap();
        let mut crashes = 0;
        for k in 1.. {
            let disk = base.after_crash(k);
            disk.crash_at_sync(k);
            let first = try_once(&disk, *changes);
            if !disk.crashed() {
                break;
            }
            crashes += 1;
            for fate in 0..2 {
                let db = block_on(open(ROOMS, store_on(&disk.after_crash(k * 31 + fate))));
                let again = block_on(db.transact_idempotent("k", changes())).unwrap().records();
                if let Ok(first) = &first {
                    assert_eq!(first, &again, "it was answered before the crash");
                }
                assert_eq!(block_on(before(&db, "k", changes())), again);
                assert_happened(&db);
                assert!(block_on(findings(&db)).is_empty());
            }
        }
        assert!(crashes > 2, "{crashes}");
    }
}

fn store_on(disk: &SimDisk) -> Arc<dyn Store> {
    Arc::new(engine_after_crash(disk).expect("it opens"))
}

fn try_once(disk: &SimDisk, changes: fn() -> Vec<Change>) -> Result<Vec<Option<Record>>, Error> {
    let store = Arc::new(engine_after_crash(disk)?);
    let options =
        keyloom::Options { clock: Arc::new(ManualClock::new()), ..keyloom::Options::default() };
    block_on(async {
        let db = Db::open_with(ROOMS, store, options).await?;
        Ok(db.transact_idempotent("k", changes()).await?.records())
    })
}

/// Changes that must be applied once.
struct Script {
    setup: fn(&Db),
    changes: fn() -> Vec<Change>,
    /// How many calls of the store are skipped between two interruption points.
    stride: usize,
}

/// None of these can be applied twice. Afterwards there is no room `hall`, or one with the name
/// `once`.
const SCRIPTS: &[Script] = &[
    Script { setup: small_family, changes: || vec![Change::delete("room", "hall")], stride: 1 },
    Script { setup: large_family, changes: || vec![Change::delete("room", "hall")], stride: 13 },
    Script {
        setup: small_family,
        changes: || {
            vec![
                Change::create("room", &json!({"id": "new", "name": "new"})).unwrap(),
                Change::update("room", "hall", &json!({"name": "once"})).unwrap(),
                Change::delete("box", "b1"),
            ]
        },
        stride: 1,
    },
];

#[track_caller]
fn assert_happened(db: &Db) {
    let hall = block_on(db.get("room", "hall")).unwrap();
    let name = hall.as_ref().and_then(|hall| hall.get("name"));
    assert!(name.is_none_or(|name| *name == Value::from("once")), "{hall:?}");
}
