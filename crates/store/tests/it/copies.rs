//! Support for tests of backup and restore: engines anywhere on a disk, random histories, and a
//! store with a backup in the middle of its history.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_store::{CopyProgress, Engine, Error, Moment, Options, Restore, Store, Time};
use keyloom_testkit::history::{self, Op, Outcome, Player};
use keyloom_testkit::{ManualClock, SimDisk, Subject};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::rig::{DIRECTORY, plain_table, put, repeatable};

pub(crate) const COPY: &str = "/copy";
pub(crate) const BACK: &str = "/back";

const STEPS: usize = 40;
/// Time between two steps, so that a point in time can fall between them.
pub(crate) const STEP_MS: u64 = 10;

/// An engine in some directory of a disk.
pub(crate) struct Life {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: ManualClock,
}

impl Life {
    pub(crate) fn open(disk: &SimDisk, directory: &str, now: Time) -> Life {
        let clock = ManualClock::new();
        clock.set(now);
        let options = Options {
            // Small enough for checkpoints and new segments every few steps.
            memory_bytes: 4 << 20,
            log_segment_bytes: 4 << 10,
            clock: Arc::new(clock.clone()),
            ..repeatable(disk)
        };
        let engine = Engine::open(directory, options);
        let engine = engine.unwrap_or_else(|error| panic!("cannot open {directory}: {error}"));
        Life { engine: Arc::new(engine), clock }
    }

    pub(crate) fn commit(&self) -> u64 {
        self.engine.status().unwrap().commit
    }
}

impl Subject for Life {
    fn store(&self) -> Arc<dyn Store> {
        self.engine.clone()
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn settle(&self) {
        self.engine.settle().expect("background work succeeds");
    }
}

/// Returns the same history for the same number.
pub(crate) fn random_history(number: u32) -> Vec<Op> {
    let mut seed = [11; 32];
    seed[..4].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    history::history(STEPS).new_tree(&mut runner).unwrap().current()
}

/// Plays one step, some time after the previous one.
pub(crate) fn step(player: &mut Player<'_>, clock: &ManualClock, op: &Op) -> Outcome {
    clock.advance_ms(STEP_MS);
    player.step(op)
}

/// Returns what a copy has of a store: tables, and items by every index. Its feed starts over.
pub(crate) fn contents(subject: &dyn Subject) -> Vec<(Op, Outcome)> {
    let all = Player::new(subject).contents().into_iter();
    all.filter(|(op, _)| !matches!(op, Op::Changes { .. })).collect()
}

#[track_caller]
pub(crate) fn assert_same(found: &[(Op, Outcome)], expected: &[(Op, Outcome)], what: &str) {
    for ((op, found), (_, expected)) in found.iter().zip(expected) {
        let same = found == expected;
        assert!(same, "{what}:\n{op:#?}\nis {found:#?}\nand should be {expected:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// Backs up a store into a directory.
pub(crate) fn copy(engine: &Engine, target: &str) -> Result<CopyProgress, Error> {
    engine.backup(target, &mut |_| ControlFlow::Continue(()))
}

/// Restores the backup in `/copy` with the log of the store, into a directory.
pub(crate) fn restore(disk: &SimDisk, to: Moment, target: &str) -> Result<CopyProgress, Error> {
    restore_of(disk, COPY, to, target)
}

/// Like [`restore`], of a backup in another directory.
pub(crate) fn restore_of(
    disk: &SimDisk,
    backup: &str,
    to: Moment,
    target: &str,
) -> Result<CopyProgress, Error> {
    let logs = vec![DIRECTORY.into()];
    let restore = Restore { backup: backup.into(), logs, to, target: target.into() };
    Engine::restore(&restore, &repeatable(disk), &mut |_| ControlFlow::Continue(()))
}

/// Returns a disk with a closed store: a table and some items, a backup of it, and as many items
/// since, one commit a second.
pub(crate) fn disk_with_backup(items: i64) -> SimDisk {
    let disk = SimDisk::new(4);
    let clock = ManualClock::new();
    let options =
        Options { clock: Arc::new(clock.clone()), log_segment_bytes: 4 << 10, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    let put_some = |ids: std::ops::Range<i64>| {
        for id in ids {
            clock.advance_ms(1000);
            put(&engine, &plain, id).unwrap();
        }
    };
    put_some(0..items);
    copy(&engine, COPY).unwrap();
    put_some(items..2 * items);
    engine.close().unwrap();
    disk
}

/// Returns how many histories to play: more with `PROPTEST_CASES`.
pub(crate) fn histories(ordinary: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    asked.map_or(ordinary, |cases: u32| cases / 40)
}
