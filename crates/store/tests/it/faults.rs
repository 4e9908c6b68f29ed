//! A disk that fails while the store is open: writes are refused with the reason, reads continue,
//! and nothing acknowledged is lost.

use std::sync::Arc;

use keyloom_store::{Background, Durability, Engine, Error, Options, Put, Read, Store};
use keyloom_testkit::SimDisk;
use pollster::FutureExt;

use crate::rig::{
    DIRECTORY, count, has, in_data, numbered, open, plain_table, put, repeatable, table,
};

/// Writes until one is refused; returns how many were accepted, and why the next was not.
fn write_until_refused(engine: &Engine, from: i64) -> (i64, Error) {
    let plain = table("plain");
    for id in from..100_000 {
        if let Err(error) = put(engine, &plain, id) {
            return (id, error);
        }
    }
    panic!("nothing failed");
}

fn used_bytes(disk: &SimDisk) -> u64 {
    disk.files().iter().map(|path| disk.file_bytes(path).unwrap().len() as u64).sum()
}

/// After a failure: no writes, all reads, and the store is intact when reopened.
fn check_after_failure(disk: &SimDisk, engine: Engine, taken: i64, what: &str) {
    let plain = table("plain");
    for id in [taken + 1, taken + 2] {
        let error = put(&engine, &plain, id).unwrap_err();
        assert!(matches!(error, Error::WritesRefused(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(what) && text.contains(DIRECTORY), "{text}");
    }
    assert!(engine.status().unwrap().failure.is_some());
    (0..taken).for_each(|id| assert!(has(&engine, &plain, id), "{id} cannot be read"));
    check_resumed(disk, &engine, taken);
    drop(engine);
    for seed in 0..8 {
        let survived = disk.after_crash(seed);
        let engine = open(&survived).unwrap();
        (0..taken).for_each(|id| assert!(has(&engine, &plain, id), "{id} is lost"));
        assert!(has(&engine, &plain, taken + 3), "a write after the failure is lost");
        // The refused write may have survived; none after it was ever tried.
        assert!(count(&engine, &plain) <= taken as u64 + 2);
        put(&engine, &plain, 5).unwrap();
    }
}

/// The fault has passed: writes resume without reopening the store.
fn check_resumed(disk: &SimDisk, engine: &Engine, taken: i64) {
    let plain = table("plain");
    let before = engine.snapshot().block_on().unwrap();
    engine.settle().unwrap();
    assert!(engine.status().unwrap().failure.is_none());
    put(engine, &plain, taken + 3).unwrap();
    (0..taken).for_each(|id| assert!(has(engine, &plain, id), "{id} can no longer be read"));
    let scanned = before.scan(keyloom_store::Scan::new(&plain)).block_on().unwrap();
    assert_eq!(scanned.count, taken as u64, "readers keep what they have");
    // What was acknowledged before is on disk even if the tree never gets there.
    let survived = open(&disk.after_crash(1)).unwrap();
    (0..taken).for_each(|id| assert!(has(&survived, &plain, id), "{id} is lost"));
}

#[test]
fn a_failing_sync_refuses_writes_and_loses_nothing_acknowledged() {
    for k in 1..40 {
        let disk = SimDisk::new(k);
        let options = Options { log_segment_bytes: 4096, ..repeatable(&disk) };
        let engine = Engine::open(DIRECTORY, options).unwrap();
        plain_table(&engine);
        disk.fail_sync_at(k);
        let (taken, _) = write_until_refused(&engine, 0);
        check_after_failure(&disk, engine, taken, "sync");
    }
}

/// A large write is applied to the tree while it is synced. No reader may see it if that fails.
#[test]
fn a_large_write_whose_sync_fails_is_not_seen() {
    for background in [Background::Manual, Background::Threads] {
        let disk = SimDisk::new(7);
        let engine = Engine::open(DIRECTORY, Options { background, ..repeatable(&disk) }).unwrap();
        let plain = plain_table(&engine);
        (0..10).for_each(|id| put(&engine, &plain, id).unwrap());
        // A background sync may be the one that fails: then the write is durable, and the next one is
        // tried. If it was a sync of the tree, that one is refused before it is synced.
        let write = |id| {
            disk.fail_sync_at(1);
            let mut large = numbered(id);
            large.insert("more", "x".repeat(300_000));
            engine.put(Put::new(&plain, large)).block_on().err().map(|error| (id, error))
        };
        let (refused, error) = (10..20).find_map(write).unwrap();
        disk.fail_no_sync();
        assert!(matches!(error, Error::WritesRefused(_)), "{error}");
        assert!(!has(&engine, &plain, refused) && count(&engine, &plain) == refused as u64);
        check_after_failure(&disk, engine, refused, "sync");
    }
}

#[test]
fn a_full_disk_refuses_writes_and_loses_nothing_acknowledged() {
    for extra in [0, 700, 5_000, 40_000] {
        let disk = SimDisk::new(extra);
        let options = Options { log_segment_bytes: 8192, ..repeatable(&disk) };
        let engine = Engine::open(DIRECTORY, options).unwrap();
        plain_table(&engine);
        disk.set_capacity(used_bytes(&disk) + extra);
        let (taken, error) = write_until_refused(&engine, 0);
        assert!(error.to_string().contains("the disk is full"), "{error}");
        disk.set_capacity(u64::MAX);
        check_after_failure(&disk, engine, taken, "log");
    }
}

/// A quota is a full disk for one user: it passes when files are removed, or when it is raised.
#[cfg(target_os = "linux")]
#[test]
fn an_exceeded_quota_is_like_a_full_disk() {
    const ENOSPC: i32 = 28;
    const EDQUOT: i32 = 122;
    for (errno, expected) in [(ENOSPC, "No space left on device"), (EDQUOT, "quota exceeded")] {
        for extra in [0, 5_000, 40_000] {
            let disk = SimDisk::new(extra);
            disk.set_full_error(errno);
            let options = Options { log_segment_bytes: 8192, ..repeatable(&disk) };
            let engine = Engine::open(DIRECTORY, options).unwrap();
            plain_table(&engine);
            disk.set_capacity(used_bytes(&disk) + extra);
            let (taken, error) = write_until_refused(&engine, 0);
            let Error::WritesRefused(failure) = &error else { panic!("{error}") };
            assert!(failure.may_pass() && failure.cause.raw_os_error() == Some(errno), "{error}");
            let text = error.to_string();
            assert!(
                text.contains(expected) && text.contains("until the cause has passed"),
                "{text}"
            );
            // As long as it lasts, nothing resumes, and the store can be opened and read.
            assert!(engine.settle().is_err() && engine.status().unwrap().failure.is_some());
            let survived = disk.after_crash(1);
            survived.set_full_error(errno);
            survived.set_capacity(used_bytes(&survived));
            assert!(count(&open(&survived).unwrap(), &table("plain")) >= taken as u64);
            disk.set_capacity(u64::MAX);
            check_after_failure(&disk, engine, taken, "log");
        }
    }
}

#[test]
fn a_tree_that_cannot_be_written_refuses_writes_and_keeps_reading() {
    let mut failed = 0;
    for k in 1..30 {
        let disk = SimDisk::new(k);
        let engine = open(&disk).unwrap();
        let plain = plain_table(&engine);
        (0..50).for_each(|id| put(&engine, &plain, id).unwrap());
        disk.fail_writes_at(k);
        let checkpointed = engine.checkpoint();
        let taken = match checkpointed {
            // The failed write may have been one of the log's end mark, which does no harm.
            Ok(()) => (50..80).find(|id| put(&engine, &plain, *id).is_err()),
            Err(_) => Some(50),
        };
        if let Some(taken) = taken {
            failed += 1;
            check_after_failure(&disk, engine, taken, "");
        }
    }
    assert!(failed > 15, "{failed} of 29");
}

#[test]
fn a_read_only_directory_is_opened_for_reading() {
    let disk = SimDisk::new(0);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    (0..20).for_each(|id| put(&engine, &plain, id).unwrap());
    engine.checkpoint().unwrap();
    (20..40).for_each(|id| put(&engine, &plain, id).unwrap());
    disk.crash_now();
    drop(engine);
    let disk = disk.after_crash(0);
    let files = |disk: &SimDisk| -> Vec<_> {
        disk.files().into_iter().map(|path| (disk.file_bytes(&path), path)).collect()
    };
    let before = files(&disk);
    disk.set_read_only(true);
    let engine = open(&disk).unwrap();
    assert_eq!(count(&engine, &plain), 40);
    let text = put(&engine, &plain, 99).unwrap_err().to_string();
    assert!(text.contains("read-only"), "{text}");
    drop(engine);
    assert_eq!(files(&disk), before, "nothing may be written");
    disk.set_read_only(false);
    put(&open(&disk).unwrap(), &plain, 99).unwrap();
}

#[test]
fn a_relaxed_store_keeps_a_prefix_of_what_it_acknowledged() {
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let relaxed = Options { durability: Durability::Relaxed, ..repeatable(&disk) };
        let engine = Engine::open(DIRECTORY, relaxed).unwrap();
        let plain = plain_table(&engine);
        for id in 0..30 {
            put(&engine, &plain, id).unwrap();
            if seed % 3 == 0 && id == 12 {
                engine.settle().unwrap();
            }
        }
        disk.crash_now();
        drop(engine);
        let survived = Arc::new(disk.after_crash(seed));
        let engine = open(&survived).unwrap();
        let kept = if has_table(&engine) { count(&engine, &plain) as i64 } else { 0 };
        (0..kept).for_each(|id| assert!(has(&engine, &plain, id), "a hole before item {kept}"));
        assert!(seed % 3 != 0 || kept >= 13, "what was synced is lost");
    }
}

fn has_table(engine: &Engine) -> bool {
    !pollster::block_on(keyloom_store::Read::list_tables(engine)).unwrap().is_empty()
}

#[test]
fn a_full_disk_can_be_opened_and_read_and_written_again_when_there_is_space() {
    // Rewriting the end of the log needs space: a spare provides some.
    for has_spare in [false, true] {
        let disk = SimDisk::new(3);
        let options = Options { log_segment_bytes: 64 << 10, ..repeatable(&disk) };
        let engine = Engine::open(DIRECTORY, options).unwrap();
        let plain = plain_table(&engine);
        (0..100).for_each(|id| put(&engine, &plain, id).unwrap());
        if has_spare {
            engine.settle().unwrap();
            keyloom_store::Disk::sync_directory(&disk, &in_data("log")).unwrap();
        }
        disk.crash_now();
        drop(engine);
        let disk = disk.after_crash(0);
        let used: usize =
            disk.files().iter().map(|path| disk.file_bytes(path).unwrap().len()).sum();
        disk.set_capacity(used as u64);
        let engine = open(&disk).unwrap();
        assert_eq!(count(&engine, &plain), 100);
        assert_eq!(put(&engine, &plain, 100).is_ok(), has_spare);
        disk.set_capacity(u64::MAX);
        engine.settle().unwrap();
        (100..110).for_each(|id| put(&engine, &plain, id).unwrap());
        assert_eq!(count(&open(&disk.after_crash(2)).unwrap(), &plain), 110);
    }
}

#[test]
fn reads_recover_from_a_transient_fault() {
    let disk = SimDisk::new(4);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    (0..3000).for_each(|id| put(&engine, &plain, id).unwrap());
    engine.close().unwrap();
    let engine = open(&disk).unwrap();
    disk.set_unreadable(true);
    let key = keyloom_value::Item::from([("id", 250)]);
    let get = keyloom_store::Get::new(&plain, key);
    for _ in 0..2 {
        let error = engine.get(get.clone()).block_on().unwrap_err();
        assert!(matches!(error, Error::Io(_)), "{error}");
        // The files are not reopened before that helps.
        let _ = engine.settle();
    }
    disk.set_unreadable(false);
    engine.settle().unwrap();
    assert_eq!(engine.get(get).block_on().unwrap(), Some(numbered(250)));
    put(&engine, &plain, 3000).unwrap();
    assert_eq!(count(&engine, &plain), 3001);
}
