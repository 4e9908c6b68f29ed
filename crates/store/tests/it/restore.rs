//! Point-in-time restore: every commit since a backup can be restored, and what is out of range,
//! damaged or of another history is refused.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyloom_store::{
    Clock, CopyProgress, Disk, DiskFile, Durability, Engine, Error, Moment, OpenMode, Options,
    Restore, Time,
};
use keyloom_testkit::history::{Op, Outcome, Player};
use keyloom_testkit::{ManualClock, SimDisk, Subject};

use crate::copies::{
    BACK, COPY, Life, STEP_MS, assert_same, contents, copy, disk_with_backup, histories,
    random_history, restore, restore_of, step,
};
use crate::rig::{DIRECTORY, count, has, open, plain_table, put, repeatable, segments, table};

/// Histories of which every commit and every time since a backup is restored.
const HISTORIES: u32 = 5;

#[track_caller]
fn moment_gone(outcome: Result<CopyProgress, Error>) -> (u64, u64) {
    match outcome {
        Err(Error::MomentGone { oldest, latest }) => (oldest, latest),
        Err(error) => panic!("another error: {error}"),
        Ok(made) => panic!("there is no such point in time, but {made:?} was made"),
    }
}

/// The store after a step.
struct After {
    commit: u64,
    at: Time,
    contents: Vec<(Op, Outcome)>,
}

impl After {
    fn now(source: &Life) -> After {
        let (commit, at) = (source.commit(), source.clock.now());
        After { commit, at, contents: contents(source) }
    }
}

/// Plays a history with a backup in the middle; returns the contents of the store at each step
/// since.
fn recorded(disk: &SimDisk, ops: &[Op]) -> Vec<After> {
    let source = Life::open(disk, DIRECTORY, ManualClock::START);
    let mut player = Player::new(&source);
    let (before, since) = ops.split_at(ops.len() / 2);
    before.iter().for_each(|op| drop(step(&mut player, &source.clock, op)));
    copy(&source.engine, COPY).unwrap();
    let mut after = vec![After::now(&source)];
    for op in since {
        step(&mut player, &source.clock, op);
        after.push(After::now(&source));
    }
    after
}

#[test]
fn every_commit_since_the_backup_can_be_restored() {
    for number in 0..histories(HISTORIES) {
        let disk = SimDisk::new(number.into());
        let after = recorded(&disk, &random_history(number));
        let commits = after[0].commit..=after.last().unwrap().commit;
        for commit in commits {
            let target = format!("/commit-{commit}");
            let made = restore(&disk, Moment::Commit(commit), &target).unwrap();
            assert_eq!(made.commit, commit);
            // A step can have several commits; settling leads from any of them to the contents
            // after the last.
            let expected = after.iter().find(|after| after.commit >= commit).unwrap();
            let restored = Life::open(&disk, &target, expected.at);
            assert_eq!(restored.commit(), commit);
            restored.settle();
            assert_same(&contents(&restored), &expected.contents, &target);
        }
    }
}

#[test]
fn every_time_since_the_backup_can_be_restored() {
    for number in 0..histories(HISTORIES) {
        let disk = SimDisk::new(number.into());
        let after = recorded(&disk, &random_history(number + 100));
        for (step, expected) in after.iter().enumerate() {
            let target = format!("/step-{step}");
            // Exactly then, or between this step and the next.
            let late = if step % 2 == 0 { 0 } else { STEP_MS - 1 };
            let time = Time(expected.at.0 + late);
            let made = restore(&disk, Moment::Time(time), &target).unwrap();
            assert_eq!(made.commit, expected.commit, "{target}");
            assert!(made.at <= time);
            let restored = Life::open(&disk, &target, expected.at);
            assert_same(&contents(&restored), &expected.contents, &target);
        }
    }
}

#[test]
fn the_latest_point_is_the_end_of_the_log_or_the_backup_without_one() {
    let disk = SimDisk::new(0);
    let after = recorded(&disk, &random_history(7));
    let (first, last) = (&after[0], after.last().unwrap());
    let made = restore(&disk, Moment::Latest, BACK).unwrap();
    assert_eq!(made.commit, last.commit);
    assert_same(&contents(&Life::open(&disk, BACK, last.at)), &last.contents, "all");
    // Nothing happened after the last commit, so a later time is the same state.
    let made = restore(&disk, Moment::Time(Time(u64::MAX)), "/later").unwrap();
    assert_eq!(made.commit, last.commit);
    let without_log =
        Restore { backup: COPY.into(), logs: vec![], to: Moment::Latest, target: "/alone".into() };
    let made =
        Engine::restore(&without_log, &repeatable(&disk), &mut |_| ControlFlow::Continue(()))
            .unwrap();
    assert_eq!(made.commit, first.commit);
    assert_same(&contents(&Life::open(&disk, "/alone", first.at)), &first.contents, "the backup");
}

#[test]
fn points_out_of_range_are_refused_and_the_target_can_be_reused() {
    let disk = disk_with_backup(10);
    // The table is commit 1, the backup ends with commit 11, the log with commit 21.
    let before = Time(ManualClock::START.0 + 9_999);
    for to in [Moment::Commit(0), Moment::Commit(10), Moment::Commit(22), Moment::Time(before)] {
        assert_eq!(moment_gone(restore(&disk, to, BACK)), (11, 21), "{to:?}");
    }
    assert_eq!(restore(&disk, Moment::Commit(15), BACK).unwrap().commit, 15);
    let engine = Engine::open(BACK, repeatable(&disk)).unwrap();
    assert_eq!(count(&engine, &table("plain")), 14);
}

#[test]
fn a_log_that_begins_after_the_backup_is_refused() {
    let disk = disk_with_backup(60);
    let trimming = Options { keep_log_bytes: 0, log_segment_bytes: 4 << 10, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, trimming).unwrap();
    engine.settle().unwrap();
    assert!(engine.status().unwrap().oldest > 62, "the log must not reach the backup");
    drop(engine);
    for to in [Moment::Latest, Moment::Commit(100)] {
        assert_eq!(moment_gone(restore(&disk, to, BACK)), (61, 61), "{to:?}");
    }
}

#[test]
fn a_damaged_log_is_not_restored_from() {
    let whole = disk_with_backup(100);
    let paths: Vec<_> = segments(&whole).into_iter().filter(|p| p.starts_with(DIRECTORY)).collect();
    for path in &paths[paths.len() / 2 + 1..] {
        let disk = whole.after_crash(0);
        disk.corrupt(path, 200, |bytes| bytes[0] ^= 1);
        match restore(&disk, Moment::Latest, BACK) {
            Err(Error::Damaged(damage)) => assert_eq!(&damage.file, path),
            other => panic!("damage in {} was taken for {other:?}", path.display()),
        }
    }
}

/// A relaxed store once lost commits that its copy had, and reused their numbers.
#[test]
fn a_crash_never_rolls_the_store_back_behind_its_copy() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let options = Options { durability: Durability::Relaxed, ..repeatable(&disk) };
        let engine = Engine::open(DIRECTORY, options).unwrap();
        let plain = plain_table(&engine);
        (0..10).for_each(|id| put(&engine, &plain, id).unwrap());
        let made = copy(&engine, COPY).unwrap();
        (10..20).for_each(|id| put(&engine, &plain, id).unwrap());
        disk.crash_now();
        drop(engine);
        let survived = disk.after_crash(seed);
        assert!(open(&survived).unwrap().status().unwrap().commit >= made.commit);
        let restored = restore(&survived, Moment::Latest, BACK).unwrap();
        assert!(restored.commit >= made.commit);
    }
}

#[test]
fn a_backup_can_be_read_but_once_written_to_it_is_a_store_of_its_own() {
    let disk = disk_with_backup(10);
    let plain = table("plain");
    let looked_at = Engine::open(COPY, repeatable(&disk)).unwrap();
    assert_eq!(count(&looked_at, &plain), 10);
    looked_at.settle().unwrap();
    drop(looked_at);
    assert_eq!(restore(&disk, Moment::Latest, BACK).unwrap().commit, 21);
    // Its commit 12 differs from commit 12 of the log.
    for checkpoint in [false, true] {
        let disk = disk.after_crash(0);
        let written_to = Engine::open(COPY, repeatable(&disk)).unwrap();
        put(&written_to, &plain, 99).unwrap();
        if checkpoint {
            written_to.close().unwrap();
        } else {
            disk.crash_now();
            drop(written_to);
        }
        let disk = disk.after_crash(0);
        let error = restore(&disk, Moment::Latest, "/other").unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        let error = restore_of(&disk, DIRECTORY, Moment::Latest, "/other").unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }
}

#[test]
fn a_restored_store_accepts_writes_reopens_and_can_be_backed_up_and_restored_again() {
    let disk = disk_with_backup(10);
    let plain = table("plain");
    restore(&disk, Moment::Commit(15), BACK).unwrap();
    for round in 0..3 {
        let engine = Engine::open(BACK, repeatable(&disk)).unwrap();
        assert_eq!(count(&engine, &plain), 14 + round);
        put(&engine, &plain, 1000 + round as i64).unwrap();
    }
    let engine = Engine::open(BACK, repeatable(&disk)).unwrap();
    let again = |name: &str, to| Restore {
        backup: "/again".into(),
        logs: vec![BACK.into()],
        to,
        target: name.into(),
    };
    assert_eq!(copy(&engine, "/again").unwrap().commit, 18);
    put(&engine, &plain, 2000).unwrap();
    let restored = again("/third", Moment::Commit(19));
    Engine::restore(&restored, &repeatable(&disk), &mut |_| ControlFlow::Continue(())).unwrap();
    let third = Engine::open("/third", repeatable(&disk)).unwrap();
    assert_eq!(count(&third, &plain), 18);
    assert!(has(&third, &plain, 2000));
    // The store that was restored from has different commits with these numbers.
    let mixed = Restore { logs: vec![DIRECTORY.into()], ..again("/mixed", Moment::Latest) };
    let mixed = Engine::restore(&mixed, &repeatable(&disk), &mut |_| ControlFlow::Continue(()));
    assert!(matches!(mixed, Err(Error::Damaged(_))), "{mixed:?}");
}

/// A disk that removes the oldest segments of a log right after they were listed, as if the store
/// that writes it had trimmed it.
#[derive(Debug)]
struct Trimming {
    disk: SimDisk,
    goes: Vec<PathBuf>,
}

impl Disk for Trimming {
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let names = self.disk.list(directory);
        for path in self.goes.iter().filter(|path| path.parent() == Some(directory)) {
            self.disk.remove(path)?;
        }
        names
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open(path, mode)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        self.disk.create_directory(directory)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.disk.sync_directory(directory)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.disk.lock(path)
    }
}

#[test]
fn a_log_that_is_trimmed_while_it_is_opened_is_restored_from_if_enough_is_left() {
    let whole = disk_with_backup(100);
    let log: Vec<_> = segments(&whole).into_iter().filter(|p| p.starts_with(DIRECTORY)).collect();
    for trimmed in 0..log.len() {
        let disk = whole.after_crash(0);
        let trimming = Trimming { disk: disk.clone(), goes: log[..trimmed].to_vec() };
        let options = Options { disk: Arc::new(trimming), ..repeatable(&disk) };
        let restore = Restore {
            backup: COPY.into(),
            logs: vec![DIRECTORY.into()],
            to: Moment::Latest,
            target: BACK.into(),
        };
        let outcome = Engine::restore(&restore, &options, &mut |_| ControlFlow::Continue(()));
        let oldest: u64 = log[trimmed].file_stem().unwrap().to_str().unwrap().parse().unwrap();
        match oldest <= 102 {
            true => assert_eq!(outcome.unwrap().commit, 201),
            false => assert_eq!(moment_gone(outcome), (101, 101)),
        }
    }
}
