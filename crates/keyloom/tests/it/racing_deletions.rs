//! Several processes delete the same entity with many others at once: one of them does, and the others
//! find it gone. Before, three or more canceled each other's deletions until all gave up.

use std::pin::Pin;
use std::sync::Arc;

use keyloom::{Db, Error};
use keyloom_store::Store;
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{InFront, ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::rig::{Plain, assert_clean, end_deletions, memory_store_at, open_at};

const MODEL: &str = r#"
[entity.folder]
reference_shards = 3
id = "given"
fields.name = "text"

[entity.file]
id = "given"
fields.folder = "ref folder cascade"
fields.other = "ref folder cascade?"
fields.n = "int"
list.by_folder = { by = "folder", order = "n" }
count.by_folder = { by = "folder" }
"#;

/// More than fit into a transaction.
const FILES: usize = 120;
/// Many more calls of the store than all processes make if one goes on.
const STEPS_MAX: usize = 200_000;

type Work<'w> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'w>>;

struct Race {
    clock: ManualClock,
    dbs: Vec<Db>,
}

impl Race {
    /// Processes, each with its own database on a store that only has what DynamoDB has.
    fn new(processes: usize) -> Race {
        let clock = ManualClock::new();
        let store: Arc<dyn Store> =
            Arc::new(InFront(Plain(pausing(Arc::new(memory_store_at(&clock))))));
        let dbs: Vec<Db> =
            (0..processes).map(|_| block_on(open_at(MODEL, store.clone(), &clock))).collect();
        let folder = |id: &str| json!({"id": id, "name": id});
        block_on(dbs[0].create("folder", &folder("a"))).unwrap();
        block_on(dbs[0].create("folder", &folder("b"))).unwrap();
        for number in 0..FILES {
            let file = json!({"id": format!("{number}"), "folder": "a", "other": "b", "n": number});
            block_on(dbs[0].create("file", &file)).unwrap();
        }
        Race { clock, dbs }
    }

    /// Deletes a folder in each process, with their calls in a random order.
    fn run(&self, folders: &[&str], random: &mut Random) -> Vec<Result<(), Error>> {
        let work = |(db, id): (&Db, &&str)| -> Option<Work<'_>> {
            let (db, id) = (db.clone(), (*id).to_owned());
            Some(Box::pin(async move { db.delete("folder", &id).await }))
        };
        let mut works: Vec<Option<Work<'_>>> = self.dbs.iter().zip(folders).map(work).collect();
        let mut done: Vec<Option<Result<(), Error>>> = folders.iter().map(|_| None).collect();
        for _ in 0..STEPS_MAX {
            let index = random.index(works.len());
            let Some(work) = &mut works[index] else { continue };
            if let Some(answer) = go_on(work.as_mut()) {
                (done[index], works[index]) = (Some(answer), None);
            }
            if works.iter().all(Option::is_none) {
                return done.into_iter().flatten().collect();
            }
        }
        panic!("nobody comes to an end: {done:?}");
    }

    fn assert_nothing_left(&self, folders: &[&str]) {
        end_deletions(&self.dbs[0], &self.clock);
        assert_clean(&self.dbs[0]);
        for id in folders {
            assert!(block_on(self.dbs[0].get("folder", id)).unwrap().is_none());
        }
        assert!(block_on(self.dbs[0].get("file", "0")).unwrap().is_none());
    }
}

#[test]
fn of_four_processes_that_delete_the_same_folder_one_does() {
    for seed in 0..12 {
        let race = Race::new(4);
        let answers = race.run(&["a"; 4], &mut Random::new(seed));
        let count = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(count, 1, "seed {seed}: {answers:?}");
        let is_gone = |answer: &Result<(), Error>| matches!(answer, Err(Error::NotFound { .. }));
        assert_eq!(answers.iter().filter(|answer| is_gone(answer)).count(), 3, "{answers:?}");
        race.assert_nothing_left(&["a"]);
    }
}

#[test]
fn deletions_that_share_their_files_all_come_to_an_end() {
    for seed in 0..12 {
        let race = Race::new(4);
        let answers = race.run(&["a", "b", "a", "b"], &mut Random::new(seed));
        let count = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(count, 2, "seed {seed}: {answers:?}");
        race.assert_nothing_left(&["a", "b"]);
    }
}

#[test]
fn a_deletion_whose_process_is_gone_is_not_waited_for_long() {
    for pauses in [150, 300, 450] {
        let race = Race::new(2);
        let mut work: Work<'_> = Box::pin(race.dbs[0].delete("folder", "a"));
        let is_done = (0..pauses).any(|_| go_on(work.as_mut()).is_some());
        assert!(!is_done, "it is running after {pauses} calls");
        // It neither goes on nor is it dropped, as in a process that is gone.
        std::mem::forget(work);
        let deleted = block_on(race.dbs[1].delete("folder", "a"));
        let is_gone = matches!(deleted, Ok(()) | Err(Error::NotFound { .. }));
        assert!(is_gone, "{pauses}: {deleted:?}");
        race.clock.advance_ms(60_000);
        race.assert_nothing_left(&["a"]);
    }
}
