//! Bugs of the past. Each test describes how it showed.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use keyloom_store::{
    Engine, Error, Feed, FeedStart, Get, Invalid, KeySchema, KeyType, Moment, Options, Put,
    ReadChanges, Restore, Store, TableName, TableSpec, Time, UpdateItem,
};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::{Item, Path, SetValue, Update, Value};
use pollster::FutureExt;

use crate::rig::{
    DIRECTORY, count, has, in_data, numbered, open, plain_table, put, repeatable, segments, table,
};

fn large(id: i64, bytes: usize) -> Item {
    let body = format!("{id:08}").repeat(bytes / 8);
    Item::from([("id", Value::from(id)), ("body", Value::from(body))])
}

fn small_segments(disk: &SimDisk) -> Options {
    Options { log_segment_bytes: 4096, ..repeatable(disk) }
}

/// A new segment had its name before its header was written. When that failed, the next open
/// skipped the broken file but left it; later segments followed it, and the store could not be
/// opened anymore.
#[test]
fn a_segment_whose_creation_failed_does_no_harm() {
    for k in 1..60 {
        let disk = SimDisk::new(k);
        let options = || Options { log_segment_bytes: 8192, ..repeatable(&disk) };
        let engine = Engine::open(DIRECTORY, options()).unwrap();
        let plain = plain_table(&engine);
        disk.fail_writes_at(k);
        let refused =
            (0..40).find(|id| engine.put(Put::new(&plain, large(*id, 3000))).block_on().is_err());
        drop(engine);
        if refused.is_none() {
            continue;
        }
        let engine = Engine::open(DIRECTORY, options()).unwrap();
        (100..160).for_each(|id| put(&engine, &plain, id).unwrap());
        engine.close().unwrap();
        let engine = Engine::open(DIRECTORY, options()).unwrap();
        assert!((100..160).all(|id| has(&engine, &plain, id)), "failing write {k}");
    }
}

fn damaged_middle(disk: &SimDisk) -> TableName {
    let engine = Engine::open(DIRECTORY, small_segments(disk)).unwrap();
    let plain = table("plain");
    let mut spec = TableSpec::new(plain.clone(), KeySchema::partition("id", KeyType::N));
    spec.feed = Feed::Images;
    engine.create_table(spec).block_on().unwrap();
    put(&engine, &plain, 0).unwrap();
    let copied = engine.backup("/backup", &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((copied.commit, copied.at), (2, ManualClock::START));
    (1..200).for_each(|id| put(&engine, &plain, id).unwrap());
    engine.close().unwrap();
    let paths = segments(disk);
    let path = &paths[paths.len() / 2];
    let bytes = disk.file_bytes(path).unwrap();
    let mut frames = bytes.windows(4).enumerate().filter(|(_, window)| window == b"KLFR");
    let (offset, _) = frames.nth(2).unwrap();
    disk.corrupt(path, offset as u64 + 50, |bytes| bytes[0] ^= 1);
    plain
}

/// The feed and restore silently read past a damaged frame to the next segment: 174 of 200 changes
/// were read, and 174 of 200 items restored.
#[test]
fn the_feed_and_restoring_do_not_read_past_damage() {
    let disk = SimDisk::new(1);
    let plain = damaged_middle(&disk);
    let engine = Engine::open(DIRECTORY, small_segments(&disk)).unwrap();
    let shard = engine.shards(plain.clone()).block_on().unwrap().remove(0).id;
    let (table, start) = (plain.clone(), FeedStart::Oldest);
    let mut read = ReadChanges { table, shard, start, limit: 50 };
    let error = loop {
        match engine.changes(read.clone()).block_on() {
            Ok(page) if page.changes.is_empty() => panic!("the feed ended without a word"),
            Ok(page) => read.start = FeedStart::After(page.next),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Damaged(_)), "{error}");
    drop(engine);
    let restore = Restore {
        backup: "/backup".into(),
        logs: vec![DIRECTORY.into()],
        to: Moment::Latest,
        target: "/restored".into(),
    };
    let error =
        Engine::restore(&restore, &small_segments(&disk), &mut |_| ControlFlow::Continue(()))
            .unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error}");
}

/// After a failed sync, reopening on the same machine trusted what it could read. It was not on the
/// disk; writes acknowledged after it were then lost in a power failure, or the store could not be
/// opened.
#[test]
fn opening_after_a_failed_sync_makes_what_it_found_durable() {
    for k in 1..60 {
        let disk = SimDisk::new(k);
        let engine = Engine::open(DIRECTORY, small_segments(&disk)).unwrap();
        let plain = plain_table(&engine);
        disk.fail_sync_at(k);
        let refused = (0..200).find(|id| put(&engine, &plain, *id).is_err()).unwrap_or(200);
        drop(engine);
        let engine = Engine::open(DIRECTORY, small_segments(&disk)).unwrap();
        (1000..1020).for_each(|id| put(&engine, &plain, id).unwrap());
        for seed in 0..6 {
            let survived = disk.after_crash(seed);
            let engine = match Engine::open(DIRECTORY, small_segments(&survived)) {
                Ok(engine) => engine,
                Err(error) => panic!("failing sync {k}, seed {seed}: {error}"),
            };
            let lost = (0..refused).chain(1000..1020).find(|id| !has(&engine, &plain, *id));
            assert_eq!(lost, None, "failing sync {k}, seed {seed}");
        }
    }
}

/// The spare for the next segment was written until the disk was full, and stayed: the next write
/// had no space.
#[test]
fn a_spare_that_does_not_fit_leaves_the_space_to_writes() {
    let disk = SimDisk::new(1);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    put(&engine, &plain, 1).unwrap();
    let used: usize = disk.files().iter().map(|path| disk.file_bytes(path).unwrap().len()).sum();
    disk.set_capacity(used as u64 + (4 << 20));
    engine.settle().unwrap();
    (2..50).for_each(|id| put(&engine, &plain, id).unwrap());
    assert_eq!(count(&engine, &plain), 49);
}

/// An update of 20,000 nested sums overflowed the committer's stack and aborted the process.
#[test]
fn an_excessively_nested_update_is_refused() {
    let engine = open(&SimDisk::new(1)).unwrap();
    let plain = plain_table(&engine);
    let one = || SetValue::Value(Value::from(1));
    let nested = (0..5000).fold(one(), |sum, _| SetValue::plus(sum, one()));
    let update = Update::new().set(Path::from("x"), nested);
    let key = Item::from([("id", Value::from(1))]);
    let error = engine.update(UpdateItem::new(&plain, key, update)).block_on().unwrap_err();
    assert!(matches!(error, Error::Invalid(Invalid::UpdateTooLarge { .. })), "{error}");
}

/// The search for expired items used the clock, their removal a time that never goes back. With the
/// clock set back they disagreed forever about an item of five years ago.
#[test]
fn background_work_ends_when_the_clock_is_set_back() {
    let clock = Arc::new(ManualClock::new());
    let options = Options { clock: clock.clone(), ..repeatable(&SimDisk::new(1)) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = table("plain");
    let mut spec = TableSpec::new(plain.clone(), KeySchema::partition("id", KeyType::N));
    spec.ttl = Some("ttl".into());
    engine.create_table(spec).block_on().unwrap();
    let five_years_secs: u64 = 5 * 365 * 24 * 60 * 60;
    let later = clock_secs(&clock, five_years_secs + 4_000_000_000);
    let ttl = i64::try_from(later - five_years_secs - 1000).unwrap();
    let item = Item::from([("id", Value::from(1)), ("ttl", Value::from(ttl))]);
    engine.put(Put::new(&plain, item)).block_on().unwrap();
    clock_secs(&clock, later - 2000);
    let (done, waiting) = mpsc::channel();
    thread::spawn(move || done.send(engine.settle()));
    waiting.recv_timeout(Duration::from_secs(20)).expect("settling ends").unwrap();
}

fn clock_secs(clock: &ManualClock, secs: u64) -> u64 {
    clock.set(Time(secs * 1000));
    secs
}

/// A snapshot that was read after its engine was closed reported a damaged tree.
#[test]
fn a_snapshot_of_a_closed_store_says_that_it_is_closed() {
    let disk = SimDisk::new(1);
    let engine = Engine::open(DIRECTORY, Options { memory_bytes: 1 << 20, ..repeatable(&disk) });
    let engine = engine.unwrap();
    let plain = plain_table(&engine);
    (0..3000).for_each(|id| put(&engine, &plain, id).unwrap());
    let snapshot = engine.snapshot().block_on().unwrap();
    engine.close().unwrap();
    // What is in memory can still be read.
    for id in 0..3000 {
        let key = Item::from([("id", Value::from(id))]);
        match snapshot.get(Get::new(&plain, key)).block_on() {
            Ok(item) => assert_eq!(item, Some(numbered(id))),
            Err(error) => assert!(matches!(error, Error::Closed), "{error}"),
        }
    }
}

/// An item full of what looks like frame headers made opening take minutes after a torn write: each
/// was trusted, and its claimed payload was read. Headers have a checksum of their own now, which
/// cannot be forged without knowing the store's id.
#[test]
fn an_item_that_looks_like_frames_does_not_slow_opening_down() {
    let disk = SimDisk::new(1);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    engine.settle().unwrap();
    let fake = [b"KLFR".as_slice(), &(12u32 << 20).to_be_bytes(), &[0; 32]].concat();
    let item = Item::from([("id", Value::from(9)), ("body", Value::from(fake.repeat(9000)))]);
    engine.put(Put::new(&plain, item)).block_on().unwrap();
    disk.crash_now();
    drop(engine);
    let disk = disk.after_crash(0);
    let path = &segments(&disk)[0];
    let bytes = disk.file_bytes(path).unwrap();
    let at = bytes.windows(8).position(|window| window == &fake[..8]).unwrap();
    disk.corrupt(path, at as u64 - 1, |bytes| bytes[0] ^= 1);
    // As after a power failure, which may lose this file's last content.
    keyloom_store::Disk::remove(&disk, &in_data("log/end")).unwrap();
    let (done, waiting) = mpsc::channel();
    thread::spawn(move || done.send(open(&disk).map(|engine| count(&engine, &plain))));
    let opened = waiting.recv_timeout(Duration::from_secs(20)).expect("opening ends");
    assert_eq!(opened.unwrap(), 0, "the torn write is cut");
}

/// A checkpoint came only after many rows of one process. One that was killed before, again and
/// again, replayed more at each start: a server that was killed 500 times took minutes to start.
#[test]
fn replay_does_not_grow_with_every_kill() {
    const LIVES: i64 = 40;
    const ROWS: i64 = 20;
    let mut disk = SimDisk::new(1);
    let checkpoint_rows = 128;
    for life in 0..LIVES {
        let engine = open(&disk).unwrap();
        let plain = if life == 0 { plain_table(&engine) } else { table("plain") };
        (0..ROWS).for_each(|row| put(&engine, &plain, life * ROWS + row).unwrap());
        let status = engine.status().unwrap();
        let replayed_next = status.commit - status.checkpointed;
        assert!(replayed_next <= checkpoint_rows + ROWS as u64, "{replayed_next} in life {life}");
        disk = disk.after_crash(life as u64);
    }
    let engine = open(&disk).unwrap();
    assert_eq!(count(&engine, &table("plain")), (LIVES * ROWS) as u64);
}

/// The same on a disk without space for a checkpoint: the store opens, and can be read.
#[test]
fn a_long_replay_on_a_full_disk_can_be_read() {
    let mut disk = SimDisk::new(1);
    for life in 0..2 {
        let engine = open(&disk).unwrap();
        let plain = if life == 0 { plain_table(&engine) } else { table("plain") };
        (0..100).for_each(|row| put(&engine, &plain, life * 100 + row).unwrap());
        assert_eq!(engine.status().unwrap().checkpointed, 0);
        disk = disk.after_crash(1);
    }
    let files = disk.files();
    let used: usize = files.iter().filter_map(|path| disk.file_bytes(path)).map(|b| b.len()).sum();
    for room in [0, 1 << 16, 20 << 20] {
        let survived = disk.after_crash(2);
        survived.set_capacity(used as u64 + room);
        let engine = open(&survived).unwrap();
        assert_eq!(count(&engine, &table("plain")), 200, "{room} bytes of room");
        survived.set_capacity(u64::MAX);
        engine.settle().unwrap();
        put(&engine, &table("plain"), 200).unwrap();
    }
}
