//! Incremental backups: a backup and its increments, in order, restore every point in time that
//! they cover; what does not follow, is incomplete or belongs to another store is refused.

use std::ops::ControlFlow;
use std::path::Path;

use keyloom_store::{
    Clock, CopyProgress, DirectoryError, Disk, Engine, Error, Moment, OpenMode, Options, Restore,
};
use keyloom_testkit::history::Player;
use keyloom_testkit::{ManualClock, SimDisk};

use crate::copies::{
    BACK, COPY, Life, assert_same, contents, copy, disk_with_backup, histories, random_history,
    step,
};
use crate::rig::{DIRECTORY, count, open, put, repeatable, table};

const HISTORIES: u32 = 12;

fn copy_since(engine: &Engine, since: &str, target: &str) -> Result<CopyProgress, Error> {
    engine.backup_since(since, target, &mut |_| ControlFlow::Continue(()))
}

fn restore_with(
    disk: &SimDisk,
    logs: &[&str],
    to: Moment,
    target: &str,
) -> Result<CopyProgress, Error> {
    let logs = logs.iter().map(Into::into).collect();
    let restore = Restore { backup: COPY.into(), logs, to, target: target.into() };
    Engine::restore(&restore, &repeatable(disk), &mut |_| ControlFlow::Continue(()))
}

#[test]
fn a_backup_and_its_increments_restore_every_commit_that_they_cover() {
    for number in 0..histories(HISTORIES) {
        let ops = random_history(number);
        let disk = SimDisk::new(number.into());
        let source = Life::open(&disk, DIRECTORY, ManualClock::START);
        let mut player = Player::new(&source);
        let quarter = ops.len() / 4;
        let mut states = vec![];
        let mut play = |ops: &[_]| {
            for op in ops {
                step(&mut player, &source.clock, op);
                states.push((source.commit(), contents(&source)));
            }
        };
        play(&ops[..quarter]);
        let begins = copy(&source.engine, COPY).unwrap().commit;
        play(&ops[quarter..2 * quarter]);
        let first = copy_since(&source.engine, COPY, "/first").unwrap();
        // One without changes.
        copy_since(&source.engine, "/first", "/none").unwrap();
        play(&ops[2 * quarter..3 * quarter]);
        let second = copy_since(&source.engine, "/none", "/second").unwrap();
        assert!(first.commit <= second.commit && second.commit == source.commit());
        play(&ops[3 * quarter..]);
        let logs = ["/first", "/none", "/second", DIRECTORY];
        let sample = states.iter().filter(|(commit, _)| *commit >= begins).step_by(3);
        for (place, (commit, expected)) in sample.enumerate() {
            let back = format!("/back-{place}");
            let made = restore_with(&disk, &logs, Moment::Commit(*commit), &back).unwrap();
            assert_eq!(made.commit, *commit);
            let restored = Life::open(&disk, &back, source.clock.now());
            assert_same(&contents(&restored), expected, &format!("history {number}: {commit}"));
        }
        let made = restore_with(&disk, &logs[..3], Moment::Latest, BACK).unwrap();
        assert_eq!((made.commit, made.at), (second.commit, second.at));
    }
}

/// Restores a chain; returns the number of items.
fn restored(disk: &SimDisk, logs: &[&str]) -> Result<u64, Error> {
    restore_with(disk, logs, Moment::Latest, BACK)?;
    let engine = Engine::open(BACK, repeatable(disk))?;
    Ok(count(&engine, &table("plain")))
}

/// Copies the files of a directory to another disk.
fn copy_into(from: &SimDisk, to: &SimDisk, directory: &str) {
    for path in from.files().iter().filter(|path| path.starts_with(directory)) {
        let file = Disk::open(from, path, OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        Disk::create_directory(to, path.parent().unwrap()).unwrap();
        let copied = Disk::open(to, path, OpenMode::Create).unwrap();
        copied.write_at(0, &bytes).unwrap();
    }
}

#[test]
fn an_increment_that_does_not_follow_is_refused() {
    let disk = disk_with_backup(20);
    let base = disk.after_crash(0);
    let engine = open(&disk).unwrap();
    copy_since(&engine, COPY, "/first").unwrap();
    put(&engine, &table("plain"), 1000).unwrap();
    copy_since(&engine, "/first", "/second").unwrap();
    assert_eq!(restored(&disk.after_crash(0), &["/first", "/second"]).unwrap(), 41);
    for logs in [&["/second"][..], &["/second", "/first"]] {
        let error = restored(&disk.after_crash(0), logs).unwrap_err();
        assert!(matches!(error, Error::MomentGone { .. }), "{error}");
    }
    // Not a directory of ours, and one that is not a backup of this store.
    let error = copy_since(&engine, "/nothing", "/third").unwrap_err();
    assert!(matches!(error, Error::Directory(DirectoryError::NoStore { .. })), "{error}");
    let other = Engine::open("/other", repeatable(&disk)).unwrap();
    copy(&other, "/of-other").unwrap();
    let error = copy_since(&engine, "/of-other", "/third").unwrap_err();
    assert!(matches!(error, Error::WrongBackup { .. }), "{error}");
    // The same store, put back and written to differently: the commit numbers are the same.
    let forked = base.after_crash(0);
    let fork = open(&forked).unwrap();
    (0..5).for_each(|id| put(&fork, &table("plain"), 2000 + id).unwrap());
    drop(fork);
    let fork = open(&forked).unwrap();
    copy_into(&disk, &forked, "/second");
    let error = copy_since(&fork, "/second", "/third").unwrap_err();
    assert!(matches!(error, Error::WrongBackup { .. }), "{error}");
    // An increment is not a store, and nothing is copied over existing files.
    let error = Engine::open("/first", repeatable(&disk)).unwrap_err();
    assert!(matches!(error, Error::Directory(DirectoryError::Foreign { .. })), "{error}");
    let before = disk.files();
    for target in ["/first", COPY, DIRECTORY] {
        assert!(matches!(copy_since(&engine, COPY, target), Err(Error::Directory(_))));
    }
    assert_eq!(disk.files(), before);
}

#[test]
fn an_increment_of_trimmed_changes_is_refused() {
    let disk = disk_with_backup(20);
    let options = Options { keep_log_bytes: 0, log_segment_bytes: 4 << 10, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    (0..200).for_each(|id| put(&engine, &table("plain"), 1000 + id).unwrap());
    engine.checkpoint().unwrap();
    engine.settle().unwrap();
    let before = disk.files();
    let error = copy_since(&engine, COPY, "/first").unwrap_err();
    assert!(matches!(&error, Error::WrongBackup { .. }), "{error}");
    assert_eq!(disk.files(), before);
}

#[test]
fn a_crash_at_every_sync_leaves_no_partial_increment_that_is_accepted() {
    let base = disk_with_backup(30);
    for k in 1.. {
        let disk = base.after_crash(0);
        disk.crash_at_sync(k);
        let outcome = open(&disk).and_then(|engine| copy_since(&engine, COPY, "/first"));
        if !disk.crashed() {
            outcome.unwrap();
            assert!(k > 5, "a copy must use the disk");
            return;
        }
        for fate in 0..6 {
            let survived = disk.after_crash(k * 31 + fate);
            if let Ok(items) = restored(&survived, &["/first"]) {
                assert_eq!(items, 60, "sync {k}, fate {fate}");
            }
        }
    }
}

#[test]
fn changed_and_missing_bytes_are_detected() {
    let disk = disk_with_backup(10);
    let engine = open(&disk).unwrap();
    copy_since(&engine, COPY, "/first").unwrap();
    drop(engine);
    let files = disk.files();
    let copied =
        files.iter().filter(|path| path.starts_with("/first") && path.extension().is_some());
    let copied: Vec<_> =
        copied.chain([Path::new("/first/increment").to_owned()].iter()).cloned().collect();
    assert_eq!(copied.len(), 2, "{files:?}");
    for path in copied {
        let len = Disk::open(&disk, &path, OpenMode::Read).unwrap().len().unwrap();
        for offset in (0..len).step_by(7) {
            let damaged = disk.after_crash(0);
            let file = Disk::open(&damaged, &path, OpenMode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_at(offset, &mut byte).unwrap();
            file.write_at(offset, &[byte[0] ^ 0x20]).unwrap();
            file.sync().unwrap();
            if let Ok(items) = restored(&damaged, &["/first"]) {
                assert_eq!(items, 20, "byte {offset} of {}", path.display());
            }
            let cut = disk.after_crash(0);
            let file = Disk::open(&cut, &path, OpenMode::ReadWrite).unwrap();
            file.set_len(offset).unwrap();
            file.sync().unwrap();
            let outcome = restored(&cut, &["/first"]);
            assert!(outcome.is_err(), "{} bytes of {}: {outcome:?}", offset, path.display());
        }
    }
}
