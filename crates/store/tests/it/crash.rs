//! The power is cut at every sync of random histories. Whatever the disk then kept of unsynced
//! writes: everything acknowledged is there, nothing is partial, every index is what a rebuild
//! would produce, and the feed has each commit once.

use std::sync::Arc;

use keyloom_store::{Background, Clock, Engine, Options, Store};
use keyloom_testkit::history::{self, Op, Outcome, Player};
use keyloom_testkit::{ManualClock, MemorySubject, SimDisk, Subject};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::rig::DIRECTORY;

/// Histories in a regular run, and their steps after the tables are created and filled.
const HISTORIES: u32 = 10;
const STEPS: usize = 30;
/// Seeds for what survives of unsynced writes, tried for every crash.
const FATES: u64 = 2;
/// How often a history is played to the end after a crash: the rest is like any history.
const PLAY_ON_EVERY: u64 = 7;

/// An engine whose disk may lose power.
struct Mortal {
    engine: Arc<Engine>,
    clock: ManualClock,
}

impl Mortal {
    fn open(disk: &SimDisk, clock: &ManualClock) -> Result<Mortal, keyloom_store::Error> {
        let options = Options {
            background: Background::Manual,
            // Small enough for checkpoints and new segments every few steps.
            memory_bytes: 4 << 20,
            log_segment_bytes: 4 << 10,
            clock: Arc::new(clock.clone()),
            disk: Arc::new(disk.clone()),
            ..Options::default()
        };
        let engine = Arc::new(Engine::open(DIRECTORY, options)?);
        Ok(Mortal { engine, clock: clock.clone() })
    }
}

impl Subject for Mortal {
    fn store(&self) -> Arc<dyn Store> {
        self.engine.clone()
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn settle(&self) {
        // This fails without power; the test checks the disk instead.
        let _ = self.engine.settle();
    }
}

/// Returns a history without steps that do not survive a process.
fn random_history(runner: &mut TestRunner) -> Vec<Op> {
    let history = history::history(STEPS).new_tree(runner).unwrap().current();
    let lasting = |op: &Op| !matches!(op, Op::TakeSnapshot | Op::ReadSnapshot(_) | Op::Repeat);
    history.into_iter().filter(lasting).collect()
}

/// Plays until the end or until the power is cut; returns the step at which it was cut.
fn play(subject: &Mortal, disk: &SimDisk, ops: &[Op]) -> Option<usize> {
    let mut player = Player::new(subject);
    ops.iter().position(|op| {
        player.step(op);
        if disk.sync_count().is_multiple_of(5) {
            let _ = subject.engine.checkpoint();
        }
        disk.crashed()
    })
}

/// Returns the contents of the memory store after these steps.
fn expected(ops: &[Op]) -> (MemorySubject, Vec<(Op, Outcome)>) {
    let reference = MemorySubject::new();
    let mut player = Player::new(&reference);
    ops.iter().for_each(|op| drop(player.step(op)));
    let contents = player.contents();
    (reference, contents)
}

/// Crashes at the `k`-th sync after opening. Returns false if there are fewer syncs.
fn crash_at(k: u64, ops: &[Op]) -> bool {
    let (disk, clock) = (SimDisk::new(k), ManualClock::new());
    let died = {
        disk.crash_at_sync(k);
        match Mortal::open(&disk, &clock) {
            Ok(subject) => play(&subject, &disk, ops),
            Err(_) => {
                assert!(disk.crashed(), "a whole disk does not fail");
                return survives_the_making(&disk, &clock);
            }
        }
    };
    let Some(step) = died else { return false };
    for fate in 0..FATES {
        let survived = disk.after_crash(k * 31 + fate);
        // A clock of its own: playing on moves it.
        let then = ManualClock::new();
        then.set(clock.now());
        check_survivor(&survived, &then, ops, step, (k + fate).is_multiple_of(PLAY_ON_EVERY));
    }
    true
}

/// The store was being created when the power was cut: it is created again, and empty.
fn survives_the_making(disk: &SimDisk, clock: &ManualClock) -> bool {
    for fate in 0..8 {
        let survived = disk.after_crash(fate);
        let subject = Mortal::open(&survived, clock).expect("it is created again");
        assert_eq!(Player::new(&subject).contents().len(), 1, "there are no tables");
    }
    true
}

fn check_survivor(disk: &SimDisk, clock: &ManualClock, ops: &[Op], step: usize, play_on: bool) {
    let subject = match Mortal::open(disk, clock) {
        Ok(subject) => subject,
        Err(error) => panic!("after a crash in step {step}: {error}"),
    };
    subject.settle();
    let found = Player::new(&subject).contents();
    // The step in progress when the power was cut may have happened or not, but only atomically.
    let (mut reference, mut contents) = expected(&ops[..=step]);
    if found != contents {
        (reference, contents) = expected(&ops[..step]);
    }
    for ((op, found), (_, expected)) in found.iter().zip(&contents) {
        assert!(
            found == expected,
            "after a crash in step {step}, {:#?},\n{op:#?}\nis {found:#?}\nand should be {expected:#?}",
            ops[step]
        );
    }
    assert_eq!(found.len(), contents.len());
    if play_on {
        let (mut left, mut right) = (Player::new(&reference), Player::new(&subject));
        for op in &ops[step + 1..] {
            let (left, right) = (left.step(op), right.step(op));
            assert!(left == right, "{op:#?}\nis {left:#?}\nand {right:#?}");
        }
    }
}

/// More histories with `PROPTEST_CASES`.
fn histories() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    asked.map_or(HISTORIES, |cases: u32| cases / 40)
}

#[test]
fn a_crash_at_every_sync_of_random_histories_loses_nothing_acknowledged() {
    for number in 0..histories() {
        let mut seed = [7; 32];
        seed[..4].copy_from_slice(&number.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let ops = random_history(&mut TestRunner::new_with_rng(Config::default(), rng));
        let crashes = (1..).take_while(|k| crash_at(*k, &ops)).count();
        println!("history {number}: {} steps, a crash at each of {crashes} syncs", ops.len());
        assert!(crashes > ops.len() / 4, "a history must use the disk");
    }
}
