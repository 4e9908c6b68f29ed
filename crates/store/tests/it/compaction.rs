//! Compaction changes no answer and loses nothing, whatever happens meanwhile, and returns the
//! space that deletions have freed.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyloom_store::{
    Compaction, Engine, Error, FeedStart, Options, Put, Read, ReadChanges, Scan, Store, TableName,
};
use keyloom_testkit::history::{self, Op, Player};
use keyloom_testkit::{ManualClock, MemorySubject, SimDisk, Subject};
use keyloom_value::{Item, Value};
use pollster::FutureExt;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::rig::{DIRECTORY, count, has, in_data, numbered, open, plain_table, put, repeatable};
use crate::subjects::EngineSubject;

/// Seeds for what survives of unsynced writes, tried for every crash.
const FATES: u64 = 3;

fn compact(engine: &Engine) -> Result<Compaction, Error> {
    engine.compact(&mut |_| ControlFlow::Continue(()))
}

fn delete(engine: &Engine, table: &TableName, id: i64) {
    let key = Item::from([("id", Value::from(id))]);
    engine.delete(keyloom_store::Delete::new(table, key)).block_on().unwrap();
}

fn large(id: i64) -> Item {
    let mut item = numbered(id);
    item.insert("more", "x".repeat(2_000));
    item
}

/// Writes items of 2 KB each, and deletes all but every 50th.
fn churn(engine: &Engine, table: &TableName, ids: std::ops::Range<i64>) {
    for id in ids.clone() {
        engine.put(Put::new(table, large(id))).block_on().unwrap();
    }
    ids.filter(|id| id % 50 != 0).for_each(|id| delete(engine, table, id));
}

fn used_bytes(disk: &SimDisk) -> u64 {
    disk.files().iter().map(|path| disk.file_bytes(path).unwrap().len() as u64).sum()
}

fn has_new_tree(disk: &SimDisk) -> bool {
    disk.files().iter().any(|path| path == Path::new("/data/tree.new"))
}

#[test]
fn space_freed_by_deletions_is_returned_while_the_store_is_open() {
    let disk = SimDisk::new(1);
    let options = Options { compact_from_bytes: 1 << 20, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    let mut most = 0;
    for round in 0..8 {
        churn(&engine, &plain, round * 1000..round * 1000 + 1000);
        most = most.max(engine.status().unwrap().tree_bytes);
        engine.settle().unwrap();
        let status = engine.status().unwrap();
        assert!(status.tree_bytes < 3 << 20, "round {round}: {status:?}");
        let file = disk.file_bytes(in_data("tree.redb")).unwrap().len();
        assert!(file < 4 << 20, "round {round}: the file has {file} bytes");
    }
    assert!(most > 4 << 20, "there was something to return: {most}");
    let status = engine.status().unwrap();
    assert!(status.compactions >= 3 && status.compactions_failed == 0, "{status:?}");
    assert_eq!(status.retired_bytes, 0);
    assert_eq!(count(&engine, &plain), 160);
}

#[test]
fn no_compaction_starts_automatically_for_little_gain() {
    let disk = SimDisk::new(2);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    churn(&engine, &plain, 0..500);
    engine.settle().unwrap();
    assert_eq!(engine.status().unwrap().compactions, 0);
}

/// redb doubles its file when it is full, but the disk holds only what was written. Rows in random
/// order leave pages two thirds full. Neither is worth a copy.
#[test]
fn a_store_that_only_grows_is_never_compacted_automatically() {
    let directory = std::env::temp_dir().join(format!("keyloom-grows-{}", std::process::id()));
    let disk = Arc::new(keyloom_store::RealDisk);
    let durability = keyloom_store::Durability::Relaxed;
    let options =
        Options { compact_from_bytes: 1 << 20, durability, disk, ..repeatable(&SimDisk::new(0)) };
    let engine = Engine::open(&directory, options).unwrap();
    let plain = plain_table(&engine);
    for number in 0..40000 {
        engine.put(Put::new(&plain, numbered(number * 7919 % 40009))).block_on().unwrap();
        if number % 500 == 0 {
            engine.settle().unwrap();
        }
    }
    let status = engine.status().unwrap();
    assert_eq!(status.compactions + status.compactions_failed, 0, "{status:?}");
    assert!(status.tree_live_bytes > 1 << 20, "{status:?}");
    drop(engine);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn progress_and_result_report_the_sizes() {
    let disk = SimDisk::new(3);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    churn(&engine, &plain, 0..2000);
    let mut steps = Vec::new();
    let done = engine
        .compact(&mut |step| {
            steps.push(step);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((steps[0].rows, steps[0].copied_bytes), (0, 0), "the need is reported first");
    assert_eq!(steps[0].needed_bytes, done.needed_bytes);
    assert_eq!(*steps.last().unwrap(), done);
    assert!(steps.windows(2).all(|pair| pair[0].rows <= pair[1].rows));
    assert!(done.after_bytes < done.before_bytes / 2, "{done:?}");
    // The size tracked write by write equals the size computed by the copy.
    assert_eq!(done.copied_bytes, done.needed_bytes);
    let status = engine.status().unwrap();
    assert_eq!((status.tree_bytes, status.tree_live_bytes), (done.after_bytes, done.needed_bytes));
    let again = compact(&engine).unwrap();
    assert!(again.after_bytes <= done.after_bytes, "{again:?} after {done:?}");
}

fn histories(count: u32, check: impl Fn(&[Op])) {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    for number in 0..asked.map_or(count, |cases: u32| cases / 20) {
        let mut seed = [11; 32];
        seed[..4].copy_from_slice(&number.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        check(&history::history(60).new_tree(&mut runner).unwrap().current());
    }
}

/// Histories cover tables, indexes, sets, columns, the feed and snapshots.
#[test]
fn histories_with_compactions_answer_like_the_memory_store() {
    histories(40, |ops| {
        let reference = MemorySubject::new();
        let subject = EngineSubject::open(&SimDisk::new(0), ManualClock::new());
        let (mut left, mut right) = (Player::new(&reference), Player::new(&subject));
        for (place, op) in ops.iter().enumerate() {
            let (expected, found) = (left.step(op), right.step(op));
            assert!(expected == found, "{op:#?}\nis {found:#?}\nand should be {expected:#?}");
            if place % 3 == 0 {
                let done = compact(&subject.engine).unwrap();
                assert_eq!(done.copied_bytes, done.needed_bytes, "the count has drifted");
            }
        }
        assert_eq!(left.contents(), right.contents());
        subject.settle();
    });
}

#[test]
fn a_snapshot_outlives_its_tree() {
    let disk = SimDisk::new(4);
    let clock = ManualClock::new();
    let options = Options { clock: Arc::new(clock.clone()), ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    churn(&engine, &plain, 0..1000);
    let snapshot = engine.snapshot().block_on().unwrap();
    for round in 1..4 {
        compact(&engine).unwrap();
        churn(&engine, &plain, round * 1000..round * 1000 + 1000);
        clock.advance_ms(10 * 60 * 1000);
        engine.settle().unwrap();
        let seen = snapshot.scan(Scan::new(&plain)).block_on().unwrap();
        assert_eq!(seen.count, 20, "the state at the snapshot");
        // Only the tree that is being read is kept, not every one since.
        let retired = engine.status().unwrap().retired_bytes;
        assert!(retired > 0 && retired < 12 << 20, "{retired}");
    }
    drop(snapshot);
    engine.settle().unwrap();
    assert_eq!(engine.status().unwrap().retired_bytes, 0);
    assert_eq!(count(&engine, &plain), 80);
}

/// Two rows that are always written together; every reader must find them equal.
fn pair(engine: &Engine, table: &TableName, writer: i64, value: i64) -> Result<(), Error> {
    let row = |id: i64| {
        let mut item = large(id);
        item.insert("value", Value::from(value));
        keyloom_store::TransactAction::Put(Put::new(table, item))
    };
    let actions = vec![row(writer * 2), row(writer * 2 + 1)];
    engine.transact_write(keyloom_store::TransactWrite::new(actions)).block_on()
}

fn values(read: &dyn Read, table: &TableName) -> Vec<i64> {
    let page = read.scan(Scan::new(table)).block_on().unwrap();
    let value = |item: &Item| item.get("value")?.as_n()?.to_i64();
    page.items.iter().filter_map(value).collect()
}

#[test]
fn writers_and_readers_continue_during_compactions() {
    const WRITERS: i64 = 3;
    let disk = SimDisk::new(5);
    let options = Options { memory_bytes: 8 << 20, disk: Arc::new(disk), ..Options::default() };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    (0..WRITERS).for_each(|writer| pair(&engine, &plain, writer, 0).unwrap());
    let stop = AtomicBool::new(false);
    let written: Vec<i64> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (engine, plain, stop) = (&engine, &plain, &stop);
                scope.spawn(move || {
                    let going = |_: &i64| !stop.load(Ordering::Relaxed);
                    let write = |value| pair(engine, plain, writer, value).unwrap();
                    (1..).take_while(going).inspect(|value| write(*value)).last().unwrap_or(0)
                })
            })
            .collect();
        scope.spawn(|| {
            let mut before = vec![0; 2 * WRITERS as usize];
            while !stop.load(Ordering::Relaxed) {
                let snapshot = engine.snapshot().block_on().unwrap();
                let now = values(&*snapshot, &plain);
                assert!(now.chunks(2).all(|pair| pair[0] == pair[1]), "half of a write: {now:?}");
                assert!(
                    now.iter().zip(&before).all(|(now, before)| now >= before),
                    "time goes back"
                );
                before = now;
            }
        });
        for round in 0..6 {
            churn(&engine, &plain, 1000 + round * 300..1300 + round * 300);
            (1000 + round * 300..1300 + round * 300).for_each(|id| delete(&engine, &plain, id));
            compact(&engine).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let expected: Vec<i64> = written.iter().flat_map(|value| [*value, *value]).collect();
    assert_eq!(values(&engine, &plain), expected, "the last acknowledged value of each writer");
    assert!(written.iter().all(|value| *value > 10), "writers must not starve: {written:?}");
    let status = engine.status().unwrap();
    assert!(status.compactions >= 6 && status.failure.is_none(), "{status:?}");
    engine.close().unwrap();
}

/// Opens a store whose log is trimmed as soon as possible.
fn open_tight(disk: &SimDisk) -> Result<Engine, Error> {
    let options = Options { log_segment_bytes: 4 << 10, keep_log_bytes: 0, ..repeatable(disk) };
    Engine::open(DIRECTORY, options)
}

/// Returns a disk with a store that has much free space, a tree that is behind its log, and a feed.
fn churned() -> SimDisk {
    let disk = SimDisk::new(6);
    let engine = open_tight(&disk).unwrap();
    let plain = plain_table(&engine);
    churn(&engine, &plain, 0..400);
    engine.checkpoint().unwrap();
    (1000..1020).for_each(|id| put(&engine, &plain, id).unwrap());
    drop(engine);
    disk
}

/// Compacts while items are written; returns how many of them were acknowledged, and the result.
fn compact_and_write(engine: &Engine, table: &TableName) -> (i64, Result<Compaction, Error>) {
    let mut next = 2000;
    let outcome = engine.compact(&mut |_| {
        for _ in 0..3 {
            if put(engine, table, next).is_ok() {
                next += 1;
            }
        }
        ControlFlow::Continue(())
    });
    (next, outcome)
}

/// Asserts that everything acknowledged is there, and at most the write in flight besides.
#[track_caller]
fn check_survivor(disk: &SimDisk, next: i64, what: &str) {
    let engine = match open_tight(disk) {
        Ok(engine) => engine,
        Err(error) => panic!("{what}: {error}"),
    };
    let plain = crate::rig::table("plain");
    (0..400).for_each(|id| assert_eq!(has(&engine, &plain, id), id % 50 == 0, "{what}: {id}"));
    (1000..1020).chain(2000..next).for_each(|id| {
        assert!(has(&engine, &plain, id), "{what}: {id} is lost");
    });
    assert!(count(&engine, &plain) <= 8 + 20 + (next - 2000) as u64 + 1, "{what}");
    assert!(!has_new_tree(disk), "{what}: an unfinished tree is left");
    let (next, outcome) = compact_and_write(&engine, &plain);
    outcome.unwrap();
    assert!(has(&engine, &plain, next - 1));
}

#[test]
fn a_crash_at_every_sync_of_a_compaction_loses_nothing() {
    let prepared = churned();
    let mut crashes = 0;
    for k in 1.. {
        let disk = prepared.after_crash(k);
        let engine = open_tight(&disk).unwrap();
        disk.crash_at_sync(k);
        let (next, outcome) = compact_and_write(&engine, &crate::rig::table("plain"));
        if !disk.crashed() {
            outcome.unwrap();
            break;
        }
        crashes += 1;
        drop(engine);
        for fate in 0..FATES {
            let survived = disk.after_crash(k * 31 + fate);
            check_survivor(&survived, next, &format!("sync {k}, fate {fate}"));
        }
    }
    assert!(crashes > 10, "a compaction syncs: {crashes}");
}

#[test]
fn a_write_that_fails_anywhere_in_a_compaction_loses_nothing() {
    let prepared = churned();
    for k in 1.. {
        let disk = prepared.after_crash(k);
        let engine = open_tight(&disk).unwrap();
        let plain = crate::rig::table("plain");
        let before = disk.write_count();
        disk.fail_writes_at(k);
        let (next, _) = compact_and_write(&engine, &plain);
        let met = disk.write_count() >= before + k;
        check_after_fault(&disk, engine, next, &format!("write {k}"));
        if !met {
            break;
        }
    }
}

#[test]
fn a_sync_that_fails_anywhere_in_a_compaction_loses_nothing() {
    let prepared = churned();
    for k in 1.. {
        let disk = prepared.after_crash(k);
        let engine = open_tight(&disk).unwrap();
        let plain = crate::rig::table("plain");
        let before = disk.sync_count();
        disk.fail_sync_at(k);
        let (next, _) = compact_and_write(&engine, &plain);
        let met = disk.sync_count() >= before + k;
        check_after_fault(&disk, engine, next, &format!("sync {k}"));
        if !met {
            break;
        }
    }
}

/// Asserts that the store continues without being reopened, and that the disk has everything.
fn check_after_fault(disk: &SimDisk, engine: Engine, next: i64, what: &str) {
    let plain = crate::rig::table("plain");
    engine.settle().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(!has_new_tree(disk), "{what}: an unfinished tree is left");
    (2000..next).for_each(|id| assert!(has(&engine, &plain, id), "{what}: {id} is lost"));
    assert!(has(&engine, &plain, 50));
    check_survivor(&disk.after_crash(1), next, what);
    // The log is trimmed as far as possible, but not what a tree needs that a crash may bring back.
    engine.checkpoint().unwrap();
    engine.settle().unwrap();
    (2..8).for_each(|fate| check_survivor(&disk.after_crash(fate), next, what));
}

#[test]
fn a_full_disk_in_the_middle_leaves_everything_as_it_was() {
    let prepared = churned();
    let mut failed = 0;
    for extra in (0..1_500_000).step_by(50_000) {
        let disk = prepared.after_crash(extra);
        let engine = open(&disk).unwrap();
        engine.settle().unwrap();
        let plain = crate::rig::table("plain");
        let (before, used) = (engine.status().unwrap(), used_bytes(&disk));
        disk.set_capacity(used + extra);
        if let Err(error) = compact(&engine) {
            failed += 1;
            assert!(error.to_string().contains("the disk is full"), "{error}");
            assert!(matches!(error, Error::Io(_)), "the store itself takes writes: {error}");
            assert_eq!(used_bytes(&disk), used, "its own file is gone");
            let after = engine.status().unwrap();
            assert_eq!(after.tree_bytes, before.tree_bytes);
            assert!(after.failure.is_none() && after.compactions_failed == 1);
        }
        disk.set_capacity(u64::MAX);
        put(&engine, &plain, 2000).unwrap();
        drop(engine);
        check_survivor(&disk, 2001, &format!("{extra} bytes free"));
    }
    assert!((5..30).contains(&failed), "{failed}");
}

#[test]
fn a_copy_that_would_not_fit_is_not_started() {
    let disk = churned().after_crash(1);
    let options = Options { log_segment_bytes: 4 << 10, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    engine.settle().unwrap();
    let (live, writes) = (engine.status().unwrap().tree_live_bytes, disk.write_count());
    for free_bytes in [0, live, live + live / 4] {
        disk.set_space(free_bytes, 1 << 40);
        let error = compact(&engine).unwrap_err();
        assert!(matches!(error, Error::Io(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("{free_bytes} bytes of free space")), "{text}");
        assert!(text.contains("nothing was changed"), "{text}");
        assert_eq!(disk.write_count(), writes);
        let status = engine.status().unwrap();
        assert!(status.failure.is_none(), "{status:?}");
        assert_eq!((status.disk_free_bytes, status.disk_bytes), (Some(free_bytes), Some(1 << 40)));
    }
    disk.set_space(live + live / 4 + (8 << 10), 1 << 40);
    compact(&engine).unwrap();
}

#[test]
fn after_a_failure_automatic_compaction_pauses() {
    let (disk, clock) = (SimDisk::new(8), ManualClock::new());
    let clocked = Arc::new(clock.clone());
    let options = Options { compact_from_bytes: 1 << 20, clock: clocked, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    churn(&engine, &plain, 0..1000);
    let failed = || engine.status().unwrap().compactions_failed;
    engine.checkpoint().unwrap();
    let mut tries = Vec::new();
    for minute in 0..30 {
        disk.set_capacity(used_bytes(&disk));
        engine.settle().unwrap();
        if failed() > tries.len() as u64 {
            tries.push(minute);
        }
        clock.advance_ms(60_000);
    }
    assert_eq!(tries, [0, 1, 3, 7, 15], "minutes of the attempts");
    disk.set_capacity(u64::MAX);
    clock.advance_ms(60 * 60_000);
    engine.settle().unwrap();
    let status = engine.status().unwrap();
    assert_eq!((status.compactions, status.compactions_failed), (1, 5), "{status:?}");
}

#[test]
fn the_log_keeps_what_a_compaction_needs() {
    let disk = SimDisk::new(9);
    let options = Options { log_segment_bytes: 4 << 10, keep_log_bytes: 0, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    churn(&engine, &plain, 0..400);
    let mut next = 2000;
    let done = engine.compact(&mut |_| {
        for _ in 0..60 {
            put(&engine, &plain, next).unwrap();
            next += 1;
        }
        engine.checkpoint().unwrap();
        engine.settle().unwrap();
        ControlFlow::Continue(())
    });
    done.unwrap();
    (2000..next).for_each(|id| assert!(has(&engine, &plain, id), "{id} is lost"));
    let status = engine.status().unwrap();
    assert!(status.oldest <= status.checkpointed + 1, "{status:?}");
    engine.checkpoint().unwrap();
    engine.settle().unwrap();
    assert_eq!(engine.status().unwrap().log_segments, 1, "and nothing longer than that");
}

#[test]
fn the_feed_continues_across_a_compaction() {
    let disk = SimDisk::new(10);
    let engine = open(&disk).unwrap();
    let fed = crate::rig::table("fed");
    let key = keyloom_store::KeySchema::partition("id", keyloom_store::KeyType::N);
    let feed = keyloom_store::Feed::Images;
    let spec = keyloom_store::TableSpec { feed, ..keyloom_store::TableSpec::new(fed.clone(), key) };
    engine.create_table(spec).block_on().unwrap();
    let shard = engine.shards(fed.clone()).block_on().unwrap().remove(0).id;
    let read = |start| {
        let read = ReadChanges { table: fed.clone(), shard: shard.clone(), start, limit: 1000 };
        engine.changes(read).block_on().unwrap()
    };
    (0..50).for_each(|id| put(&engine, &fed, id).unwrap());
    let place = read(FeedStart::Oldest).next;
    compact(&engine).unwrap();
    (50..100).for_each(|id| put(&engine, &fed, id).unwrap());
    assert_eq!(read(FeedStart::After(place)).changes.len(), 50);
    assert_eq!(read(FeedStart::Oldest).changes.len(), 100);
}

#[test]
fn a_store_that_cannot_be_written_is_not_compacted() {
    let disk = churned();
    let engine = Engine::open(DIRECTORY, Options { read_only: true, ..repeatable(&disk) }).unwrap();
    let before = used_bytes(&disk);
    assert!(matches!(compact(&engine), Err(Error::WritesRefused(_))));
    assert_eq!(used_bytes(&disk), before);
}
