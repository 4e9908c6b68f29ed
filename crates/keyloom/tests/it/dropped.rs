//! Futures that are dropped between two of their steps, and other calls between those steps:
//! nothing is blocked or half done, and the next calls leave the data consistent.

use std::future::Future;
use std::sync::Arc;

use keyloom::{Change, Db, Error, Problem, Repair};
use keyloom_store::{Clock, MemoryStore, Store};
use keyloom_testkit::ManualClock;
use keyloom_testkit::pausing::{interleave, pausing, stop_after};
use pollster::block_on;
use serde_json::json;

use crate::contents::{Contents, Look, first_layout};
use crate::crash::{ROOMS, held_family, large_family, small_family};
use crate::rig::{assert_clean, open};

/// Two views of one database: one pauses before every step, the other does not.
struct Pair {
    store: Arc<dyn Store>,
    slow: Db,
    quick: Db,
}

impl Pair {
    fn new(setup: fn(&Db)) -> Pair {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
        let quick = block_on(open(ROOMS, store.clone()));
        setup(&quick);
        let pausing: Arc<dyn Store> = pausing(store.clone());
        let slow = interleave(open(ROOMS, pausing), |_| {});
        Pair { store, slow, quick }
    }

    fn contents(&self) -> Contents {
        let now_ms = i64::try_from(ManualClock::new().now().0).expect("a time");
        let layout = first_layout(ROOMS);
        Look { store: &*self.store, layout: &layout, now_ms, lists: true }.contents()
    }

    /// Only tombstones of canceled deletions may be left, and a repair removes them.
    fn assert_repairable(&self) {
        let found = block_on(self.quick.verify(Repair::Yes, |_| {})).unwrap();
        let others: Vec<_> =
            found.iter().filter(|found| found.problem != Problem::StaleTombstone).collect();
        assert!(others.is_empty(), "{others:#?}");
        assert_clean(&self.quick);
    }
}

/// Drops the future of a call after every number of polls (by default only at intervals) until it
/// completes.
fn drop_everywhere<F: Future<Output = Result<T, Error>>, T: std::fmt::Debug>(
    (setup, stride): (fn(&Db), usize),
    call: impl Fn(Db) -> F,
    then: impl Fn(&Pair),
) {
    let before = Pair::new(setup).contents();
    let after = {
        let pair = Pair::new(setup);
        interleave(call(pair.slow.clone()), |_| {}).expect("the call works");
        pair.contents()
    };
    let stride = if std::env::var_os("PROPTEST_CASES").is_some() { 1 } else { stride };
    for polls in (1..).step_by(stride) {
        let pair = Pair::new(setup);
        let done = stop_after(polls, call(pair.slow.clone()));
        let found = pair.contents();
        assert!(found == before || found == after, "after {polls} polls: {found:#?}");
        then(&pair);
        pair.assert_repairable();
        // The next process finds the data consistent without a repair.
        let pair = Pair::new(setup);
        stop_after(polls, call(pair.slow.clone()));
        assert_clean(&block_on(open(ROOMS, pair.store.clone())));
        let found = pair.contents();
        assert!(found == before || found == after, "after {polls} polls: {found:#?}");
        if let Some(done) = done {
            done.expect("the call works");
            return;
        }
    }
}

fn any_of(result: Result<(), Error>) {
    match result {
        Ok(()) | Err(Error::NotFound { .. } | Error::TargetGone { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_dropped_small_deletion_is_atomic_and_blocks_nobody() {
    drop_everywhere(
        (small_family, 1),
        |db| async move { db.delete("room", "hall").await },
        |pair| {
            let db = &pair.quick;
            let new = json!({"id": "new", "room": "hall", "label": "new"});
            any_of(block_on(db.create("box", &new)).map(drop));
            any_of(block_on(db.update("box", "b1", &json!({"weight": 3}))).map(drop));
            any_of(block_on(db.delete("box", "b2")));
            any_of(block_on(db.delete("room", "hall")));
        },
    );
}

#[test]
fn a_dropped_large_deletion_is_atomic_and_blocks_nobody() {
    drop_everywhere(
        (large_family, 13),
        |db| async move { db.delete("room", "hall").await },
        |pair| {
            let db = &pair.quick;
            any_of(block_on(db.update("box", "b1", &json!({"weight": 3}))).map(drop));
            let new = json!({"id": "new", "box": "b2"});
            any_of(block_on(db.create("thing", &new)).map(drop));
            let same = json!({"id": "again", "box": "kept", "name": "b3.1"});
            match block_on(db.create("thing", &same)) {
                Ok(_) | Err(Error::UniqueViolation { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            any_of(block_on(db.delete("room", "attic")));
        },
    );
}

#[test]
fn a_dropped_transaction_is_atomic() {
    drop_everywhere(
        (small_family, 1),
        |db| async move {
            let changes = vec![
                Change::update("room", "attic", &json!({"name": "hall"}))?,
                Change::update("note", "n", &json!({"about": "attic"}))?,
                Change::delete("room", "hall"),
                Change::create("box", &json!({"id": "new", "room": "attic", "label": "b1"}))?,
            ];
            db.transact(changes).await
        },
        |pair| {
            let db = &pair.quick;
            any_of(block_on(db.update("room", "hall", &json!({"name": "other"}))).map(drop));
            any_of(block_on(db.delete("note", "n")));
        },
    );
}

/// A deletion that fits into one transaction marks its entities, and a writer that needs one of
/// them cancels the deletion by removing its record. The deletion then retried 64 times with the
/// record that no longer existed, and failed as if it had conflicted all the time.
#[test]
fn a_canceled_small_deletion_starts_over() {
    for step in 0.. {
        let pair = Pair::new(small_family);
        let mut reached = false;
        let deleted = interleave(pair.slow.delete("room", "hall"), |now| {
            if now == step {
                reached = true;
                let new = json!({"id": "new", "room": "hall", "label": "new"});
                any_of(block_on(pair.quick.create("box", &new)).map(drop));
            }
        });
        deleted.expect("the room is deleted with everything in it");
        let left = pair.contents();
        assert!(left.keys().all(|(kind, _)| kind != "box" && kind != "thing"), "{left:#?}");
        assert_clean(&pair.quick);
        if !reached {
            return;
        }
    }
}

#[test]
fn a_canceled_large_deletion_starts_over() {
    for step in (0..).step_by(3) {
        let pair = Pair::new(large_family);
        let mut reached = false;
        let deleted = interleave(pair.slow.delete("room", "hall"), |now| {
            if now == step {
                reached = true;
                let new = json!({"id": "new", "box": "b8"});
                any_of(block_on(pair.quick.create("thing", &new)).map(drop));
                any_of(block_on(pair.quick.update("box", "b3", &json!({"weight": 9}))).map(drop));
            }
        });
        deleted.expect("the room is deleted with everything in it");
        let left = pair.contents();
        assert!(left.keys().all(|(kind, _)| kind != "thing"), "{left:#?}");
        assert_clean(&pair.quick);
        if !reached {
            return;
        }
    }
}

/// The cascade does not fit into one transaction, so everything was marked before a reference
/// refused the deletion: `verify` then reported every row that still had its tombstone.
#[test]
fn a_refused_large_deletion_leaves_no_tombstones() {
    let pair = Pair::new(held_family);
    let before = pair.contents();
    let refused = block_on(pair.quick.delete("room", "hall"));
    assert!(matches!(refused, Err(Error::InUse { .. })), "{refused:?}");
    assert_clean(&pair.quick);
    assert_eq!(pair.contents(), before);
}

/// The result showed what the caller had requested, without the effect of a deletion in the same
/// transaction: it still had the reference, and a version that never existed.
#[test]
fn a_transaction_returns_entities_as_its_deletions_left_them() {
    let pair = Pair::new(small_family);
    let changes = vec![
        Change::update("note", "n", &json!({"on": null})).unwrap(),
        Change::delete("room", "hall"),
    ];
    let answers = block_on(pair.quick.transact(changes)).unwrap();
    let note = block_on(pair.quick.get("note", "n")).unwrap();
    assert_eq!(answers, [note, None]);
}
