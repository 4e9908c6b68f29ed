//! The log stays bounded: what is old or too much is trimmed once the tree on disk has it, and not
//! before; readers of the feed get an error, and never find a gap.

use std::path::PathBuf;
use std::sync::Arc;

use keyloom_store::{
    Background, Change, ChangePage, Engine, Error, FeedStart, Options, Put, ReadChanges, SeqNo,
    Store, TableName,
};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::{Item, Value};
use pollster::FutureExt;

use crate::rig::{
    DIRECTORY, fed_table, has, numbered, plain_table, put, repeatable, segments, table,
};

const SEGMENT_BYTES: u64 = 4 << 10;
const KEEP_SECS: u64 = 60;
/// Seeds for what survives of unsynced writes, tried for every crash.
const FATES: u64 = 4;

/// Keeps everything for a minute, in small segments, and makes no checkpoint on its own.
fn by_age(disk: &SimDisk, clock: &ManualClock) -> Options {
    Options {
        memory_bytes: 256 << 20,
        log_segment_bytes: SEGMENT_BYTES,
        keep_log_secs: KEEP_SECS,
        clock: Arc::new(clock.clone()),
        ..repeatable(disk)
    }
}

/// Keeps this much of the log, regardless of age.
fn by_bytes(disk: &SimDisk, keep_log_bytes: u64) -> Options {
    let keep_log_secs = u64::MAX;
    Options { keep_log_bytes, keep_log_secs, ..by_age(disk, &ManualClock::new()) }
}

fn put_all(engine: &Engine, table: &TableName, ids: std::ops::Range<i64>) {
    ids.for_each(|id| put(engine, table, id).unwrap());
}

/// Trims the log as far as possible.
fn trim(engine: &Engine) {
    engine.checkpoint().unwrap();
    engine.settle().unwrap();
}

fn read(
    engine: &Engine,
    table: &TableName,
    start: FeedStart,
    limit: usize,
) -> Result<ChangePage, Error> {
    let shard = engine.shards(table.clone()).block_on().unwrap().remove(0).id;
    engine.changes(ReadChanges { table: table.clone(), shard, start, limit }).block_on()
}

/// Returns everything in the feed from here on.
fn feed_from(
    engine: &Engine,
    table: &TableName,
    mut start: FeedStart,
) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    loop {
        let page = read(engine, table, start, 50)?;
        if page.changes.is_empty() {
            return Ok(changes);
        }
        start = FeedStart::After(page.next);
        changes.extend(page.changes);
    }
}

fn ids(changes: &[Change]) -> Vec<i64> {
    let id = |change: &Change| change.key.get("id").unwrap().as_n().unwrap().to_i64().unwrap();
    changes.iter().map(id).collect()
}

/// Asserts that the changes are those of consecutive items, up to the last one written.
#[track_caller]
fn assert_no_hole(changes: &[Change], last: i64) {
    let found = ids(changes);
    let first = found.first().copied().unwrap_or(last + 1);
    assert_eq!(found, (first..=last).collect::<Vec<_>>(), "the feed has a hole");
}

#[test]
fn commits_that_the_tree_lacks_are_kept_regardless_of_size() {
    let disk = SimDisk::new(1);
    let engine = Engine::open(DIRECTORY, by_bytes(&disk, 0)).unwrap();
    let plain = plain_table(&engine);
    put_all(&engine, &plain, 0..400);
    engine.settle().unwrap();
    let status = engine.status().unwrap();
    assert_eq!((status.oldest, status.checkpointed), (1, 0), "nothing was checkpointed");
    let kept = segments(&disk);
    assert!(kept.len() > 10, "{kept:?}");
    disk.crash_now();
    drop(engine);
    let survived = disk.after_crash(0);
    let engine = Engine::open(DIRECTORY, by_bytes(&survived, 0)).unwrap();
    (0..400).for_each(|id| assert!(has(&engine, &plain, id), "{id} is lost"));
    trim(&engine);
    let status = engine.status().unwrap();
    assert_eq!((status.commit, status.checkpointed), (401, 401));
    assert_eq!(segments(&survived).len(), 1, "only the segment being written is left");
}

#[test]
fn the_log_stays_under_its_limit_while_writes_continue() {
    let disk = SimDisk::new(2);
    let keep = 40 << 10;
    // Little memory, so that checkpoints come by themselves.
    let options = Options { memory_bytes: 4 << 20, ..by_bytes(&disk, keep) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let fed = fed_table(&engine);
    let mut oldest = 1;
    for round in 0..60 {
        put_all(&engine, &fed, round * 50..round * 50 + 50);
        engine.settle().unwrap();
        let status = engine.status().unwrap();
        assert!(status.oldest >= oldest && status.oldest <= status.checkpointed + 1);
        oldest = status.oldest;
        // In addition to the limit: what the tree lacks, and the segment being written, which has
        // its full length from the start.
        let lacking = (status.commit - status.checkpointed) * 600;
        assert!(status.log_bytes < keep + lacking + (80 << 10), "{status:?}");
        assert_no_hole(&feed_from(&engine, &fed, FeedStart::Oldest).unwrap(), round * 50 + 49);
    }
    assert!(oldest > 2000, "most of the log must be gone");
    trim(&engine);
    assert!(engine.status().unwrap().log_bytes < keep + (80 << 10));
}

#[test]
fn segments_are_removed_when_they_are_old_and_not_before() {
    let (disk, clock) = (SimDisk::new(3), ManualClock::new());
    let engine = Engine::open(DIRECTORY, by_age(&disk, &clock)).unwrap();
    let fed = fed_table(&engine);
    for second in 0..300 {
        put(&engine, &fed, second).unwrap();
        trim(&engine);
        let changes = feed_from(&engine, &fed, FeedStart::Oldest).unwrap();
        assert_no_hole(&changes, second);
        let (first, young) = (ids(&changes)[0], second - KEEP_SECS as i64);
        assert!(first <= young.max(0), "change {first} went before its time, in second {second}");
        // A segment is removed as a whole: with small ones, soon after its changes are old.
        assert!(first >= young - 30, "change {first} is still there in second {second}");
        clock.advance_ms(1000);
    }
}

#[test]
fn segments_keep_their_age_when_the_store_is_opened_again() {
    let (disk, clock) = (SimDisk::new(4), ManualClock::new());
    let reopen = || Engine::open(DIRECTORY, by_age(&disk, &clock)).unwrap();
    let engine = reopen();
    let fed = fed_table(&engine);
    put_all(&engine, &fed, 0..200);
    engine.close().unwrap();
    let names = segments(&disk);
    assert!(names.len() > 5);
    for _ in 0..3 {
        // Nothing is replayed, so only the next segment tells how old one is.
        let engine = reopen();
        assert_eq!(engine.status().unwrap().checkpointed, 201);
        engine.settle().unwrap();
        assert_eq!(segments(&disk), names, "they are young");
        engine.close().unwrap();
        clock.advance_ms(KEEP_SECS * 1000 / 3);
    }
    let engine = reopen();
    put(&engine, &fed, 200).unwrap();
    clock.advance_ms(1000);
    trim(&engine);
    assert!(segments(&disk).len() <= 2, "they are old: {:?}", segments(&disk));
    assert_no_hole(&feed_from(&engine, &fed, FeedStart::Oldest).unwrap(), 200);
}

#[test]
fn every_position_in_the_feed_is_gone_or_continues_without_a_gap() {
    let disk = SimDisk::new(5);
    let engine = Engine::open(DIRECTORY, by_bytes(&disk, 100 << 10)).unwrap();
    let (fed, plain) = (fed_table(&engine), plain_table(&engine));
    for id in 0..200 {
        put(&engine, &fed, id).unwrap();
        put(&engine, &plain, id).unwrap();
    }
    let all = feed_from(&engine, &fed, FeedStart::Oldest).unwrap();
    assert_eq!(all.len(), 200);
    let engine = {
        engine.close().unwrap();
        Engine::open(DIRECTORY, by_bytes(&disk, 30 << 10)).unwrap()
    };
    trim(&engine);
    let kept = feed_from(&engine, &fed, FeedStart::Oldest).unwrap();
    assert_no_hole(&kept, 199);
    assert!((10..190).contains(&kept.len()), "{} are kept", kept.len());
    for (index, change) in all.iter().enumerate() {
        match feed_from(&engine, &fed, FeedStart::After(change.seq)) {
            Ok(rest) => assert_eq!(rest, all[index + 1..]),
            Err(Error::ChangesGone { oldest }) => {
                assert!(change.seq < oldest && oldest <= kept[0].seq);
                let before = FeedStart::After(SeqNo(oldest.0 - 1));
                assert_eq!(feed_from(&engine, &fed, before).unwrap(), kept);
                assert!(index < 200 - kept.len(), "what follows {index} is kept");
            }
            Err(error) => panic!("another error: {error}"),
        }
    }
}

#[test]
fn a_damaged_segment_is_reported_to_readers_of_the_feed_and_not_skipped() {
    let disk = long_log();
    let damaged = &segments(&disk)[1];
    disk.corrupt(damaged, 300, |bytes| bytes[0] ^= 1);
    // The tree has everything, so opening need not read old segments.
    let engine = Engine::open(DIRECTORY, by_bytes(&disk, u64::MAX)).unwrap();
    let fed = table("fed");
    (0..80).for_each(|id| assert!(has(&engine, &fed, id)));
    match feed_from(&engine, &fed, FeedStart::Oldest) {
        Err(Error::Damaged(damage)) => assert_eq!(&damage.file, damaged),
        other => panic!("the damage was taken for {} changes", ids(&other.unwrap()).len()),
    }
}

#[test]
fn a_steady_reader_loses_nothing_however_much_is_written() {
    for limit in [1, 2, 100] {
        let disk = SimDisk::new(limit as u64);
        let engine = Engine::open(DIRECTORY, by_bytes(&disk, 0)).unwrap();
        let (fed, plain) = (fed_table(&engine), plain_table(&engine));
        let mut next = read(&engine, &fed, FeedStart::Now, limit).unwrap().next;
        let mut seen = Vec::new();
        for round in 0..40 {
            if round % 8 == 0 {
                put_all(&engine, &fed, round / 8 * 3..round / 8 * 3 + 3);
            }
            put_all(&engine, &plain, 0..30);
            loop {
                let page = read(&engine, &fed, FeedStart::After(next), limit)
                    .unwrap_or_else(|error| panic!("in round {round}: {error}"));
                assert!(page.next >= next);
                next = page.next;
                seen.extend(ids(&page.changes));
                if page.changes.is_empty() {
                    break;
                }
            }
            trim(&engine);
        }
        assert_eq!(seen, (0..15).collect::<Vec<_>>());
        assert!(engine.status().unwrap().oldest > 1000, "the log must be trimmed");
    }
}

/// One call reads a bounded part of the log, however little of it concerns the table.
#[test]
fn a_page_without_changes_advances_past_other_tables() {
    let disk = SimDisk::new(8);
    let options = Options { log_segment_bytes: 1 << 20, ..by_bytes(&disk, u64::MAX) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let (fed, plain) = (fed_table(&engine), plain_table(&engine));
    put(&engine, &fed, 0).unwrap();
    for id in 0..120_i64 {
        let body = "x".repeat(300 << 10);
        let item = Item::from([("id", Value::from(id)), ("body", Value::from(body))]);
        engine.put(Put::new(&plain, item)).block_on().unwrap();
    }
    put(&engine, &fed, 1).unwrap();
    let (mut start, mut pages) = (FeedStart::Oldest, Vec::new());
    for _ in 0..6 {
        let page = read(&engine, &fed, start, 10).unwrap();
        start = FeedStart::After(page.next);
        pages.push(ids(&page.changes));
    }
    assert_eq!(pages, [vec![0], vec![], vec![1], vec![], vec![], vec![]]);
}

/// Writers, a reader and trimming at once: the reader gets every change once, or an error that it
/// was too slow.
#[test]
fn a_reader_beside_writers_and_trimming_finds_no_gap() {
    let disk = SimDisk::new(6);
    let options = Options {
        background: Background::Threads,
        memory_bytes: 4 << 20,
        ..by_bytes(&disk, 8 << 10)
    };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let fed = fed_table(&engine);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| put_all(&engine, &fed, 0..4000));
        let engine = &engine;
        let trimmer = scope.spawn(move || {
            while !writer.is_finished() {
                trim(engine);
            }
        });
        let (mut start, mut expected) = (FeedStart::Oldest, 0);
        while expected < 4000 {
            match read(engine, &fed, start, 20) {
                Ok(page) => {
                    for id in ids(&page.changes) {
                        let is_start = start == FeedStart::Oldest && id >= expected;
                        assert!(id == expected || is_start, "{id} instead of {expected}");
                        (expected, start) = (id + 1, FeedStart::After(page.next));
                    }
                }
                Err(Error::ChangesGone { .. }) => start = FeedStart::Oldest,
                Err(error) => panic!("neither there nor gone: {error}"),
            }
        }
        trimmer.join().unwrap();
    });
}

/// A closed store with a log of which most can be trimmed.
fn long_log() -> SimDisk {
    let disk = SimDisk::new(7);
    let engine = Engine::open(DIRECTORY, by_bytes(&disk, u64::MAX)).unwrap();
    let fed = fed_table(&engine);
    put_all(&engine, &fed, 0..80);
    engine.close().unwrap();
    disk
}

/// Opens, writes and trims until the end or until the power is cut; returns how many items were
/// acknowledged.
fn write_and_trim(disk: &SimDisk) -> Result<i64, i64> {
    let Ok(engine) = Engine::open(DIRECTORY, by_bytes(disk, 0)) else { return Err(80) };
    for id in 80..90 {
        let written = engine.put(Put::new(&table("fed"), numbered(id))).block_on();
        if written.and_then(|_| engine.checkpoint()).and_then(|()| engine.settle()).is_err() {
            return Err(id);
        }
    }
    Ok(90)
}

#[test]
fn a_crash_at_every_sync_while_trimming_leaves_a_log_without_a_gap() {
    let base = long_log();
    let before: Vec<PathBuf> = segments(&base);
    for k in 1.. {
        let disk = base.after_crash(0);
        disk.crash_at_sync(k);
        let outcome = write_and_trim(&disk);
        let Err(acknowledged) = outcome else {
            assert!(k > before.len() as u64, "every segment that goes is synced");
            return;
        };
        for fate in 0..FATES {
            let survived = disk.after_crash(k * 31 + fate);
            let engine = Engine::open(DIRECTORY, by_bytes(&survived, u64::MAX)).unwrap();
            let fed = table("fed");
            (0..acknowledged).for_each(|id| assert!(has(&engine, &fed, id), "{id} is lost"));
            // The item in flight when the power was cut may be there or not.
            let last = acknowledged - i64::from(!has(&engine, &fed, acknowledged));
            assert_no_hole(&feed_from(&engine, &fed, FeedStart::Oldest).unwrap(), last);
            put(&engine, &fed, last + 1).unwrap();
            trim(&engine);
            assert_no_hole(&feed_from(&engine, &fed, FeedStart::Oldest).unwrap(), last + 1);
        }
    }
}

/// Hundreds of segments, and one handle for the segment being written.
#[cfg(target_os = "linux")]
#[test]
fn segments_that_are_not_written_have_no_file_handles() {
    let directory = std::env::temp_dir().join(format!("keyloom-handles-{}", std::process::id()));
    let handles = || {
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let targets = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        targets.filter(|target| target.starts_with(directory.join("log"))).count()
    };
    let options = Options { log_segment_bytes: 4096, ..Options::default() };
    let engine = Engine::open(&directory, options.clone()).unwrap();
    let plain = plain_table(&engine);
    (0..1000).for_each(|id| put(&engine, &plain, id).unwrap());
    let segments = engine.status().unwrap().log_segments;
    assert!(segments > 30, "{segments} segments");
    assert!(handles() <= 4, "{} handles for {segments} segments", handles());
    drop(engine);
    let engine = Engine::open(&directory, options).unwrap();
    assert!(handles() <= 4, "{} handles for {segments} segments", handles());
    drop(engine);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// The feed of a new table begins with the table: what others have written before is not read.
#[test]
fn a_new_feed_does_not_begin_in_the_history_of_other_tables() {
    let disk = SimDisk::new(7);
    let options = Options { log_segment_bytes: 1 << 20, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let others = plain_table(&engine);
    let large = Value::from("x".repeat(300_000));
    // More than one call reads.
    for id in 0..80 {
        let item = Item::from([("id", Value::from(id)), ("body", large.clone())]);
        engine.put(Put::new(&others, item)).block_on().unwrap();
    }
    let table = fed_table(&engine);
    put(&engine, &table, 1).unwrap();
    let page = read(&engine, &table, FeedStart::Oldest, 10).unwrap();
    assert_eq!(page.changes.len(), 1);
}
