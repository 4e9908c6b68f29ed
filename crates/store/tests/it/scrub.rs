//! Scrubbing: it finds all damage and nothing else, after any crash, with concurrent writers, and
//! row by row.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use keyloom_store::{
    Background, Disk, Engine, Error, KeySchema, KeyType, Options, Scrub, Scrubbed, Status, Store,
    TableSpec,
};
use keyloom_testkit::{Random, SimDisk};
use pollster::FutureExt;

use crate::copies::COPY;
use crate::rich::{Log, rich_store, scrub, write};
use crate::rig::{DIRECTORY, in_data, open, plain_table, put, repeatable, segments, table};

const BLOCK: usize = 4096;

fn rows(backup: Option<&str>) -> Scrub {
    Scrub::Rows { backup: backup.map(PathBuf::from), scratch: "/scratch".into() }
}

#[test]
fn a_store_without_damage_has_no_findings_at_any_level() {
    for (log, backup) in [(Log::Whole, None), (Log::Trimmed, Some(COPY)), (Log::Whole, Some(COPY))]
    {
        let disk = rich_store(log);
        let before = disk.files();
        for level in [Scrub::Tree, Scrub::Files, rows(backup)] {
            let found = scrub(&disk, &level);
            assert_eq!(found.damages, [], "{log:?} {level:?}");
            assert!(found.blocks > 50 && found.blocks == found.blocks_total, "{found:?}");
            assert_eq!(found.frames > 0, level != Scrub::Tree);
            assert_eq!(found.rows > 900, matches!(level, Scrub::Rows { .. }), "{found:?}");
        }
        assert_eq!(disk.files(), before);
        // And while it is open, with more in memory than on disk.
        let engine = open(&disk).unwrap();
        (400..500).for_each(|id| write(&engine, id));
        let found = engine.scrub(&rows(backup), &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(found.damages, []);
        assert!(found.rows > 1100, "{found:?}");
    }
}

#[test]
fn what_background_work_has_removed_is_not_a_difference() {
    let disk = rich_store(Log::Whole);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    (0..50).for_each(|id| put(&engine, &plain, id).unwrap());
    engine.drop_table(plain).block_on().unwrap();
    engine.settle().unwrap();
    let found = engine.scrub(&rows(None), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(found.damages, []);
}

#[test]
fn every_changed_bit_of_a_block_in_use_is_found_with_its_offset() {
    let whole = rich_store(Log::Whole);
    let path = in_data("tree.redb");
    let bytes = whole.file_bytes(&path).unwrap();
    let mut random = Random::new(3);
    let mut found_any = 0;
    for _ in 0..300 {
        let disk = whole.after_crash(0);
        let at = random.index(bytes.len());
        disk.corrupt(&path, at as u64, |bytes| bytes[0] ^= 1 << random.below(8));
        let found = scrub(&disk, &Scrub::Tree);
        let block = (at / BLOCK * BLOCK) as u64;
        if found.findings > 0 {
            found_any += 1;
            let damage = &found.damages[0];
            assert_eq!(damage.file, path);
            // A damaged checksum is reported for its block.
            let is_checksums = block / BLOCK as u64 % 513 == 4;
            assert!(damage.offset == block || is_checksums, "{damage} and {at}");
        }
    }
    // The rest is in a copy of the header, behind it, or was being written at the crash.
    assert!(found_any > 250, "{found_any} of 300");
}

#[test]
fn blocks_whose_checksums_are_zeroed_are_found() {
    let disk = rich_store(Log::Whole);
    disk.corrupt(in_data("tree.redb"), 4 * BLOCK as u64, |bytes| bytes[..BLOCK].fill(0));
    let found = scrub(&disk, &Scrub::Tree);
    assert!(found.tree_damages > 50, "{found:?}");
}

#[test]
fn damage_since_the_store_was_opened_is_found_while_it_is_open() {
    let disk = rich_store(Log::Whole);
    let engine = open(&disk).unwrap();
    // Everything is in memory, checksums too.
    (400..450).for_each(|id| write(&engine, id));
    engine.checkpoint().unwrap();
    assert_eq!(
        engine.scrub(&Scrub::Files, &mut |_| ControlFlow::Continue(())).unwrap().damages,
        []
    );
    let offsets = [4 * BLOCK as u64 + 100, 60 * BLOCK as u64];
    for at in offsets {
        disk.corrupt(in_data("tree.redb"), at, |bytes| bytes[0] ^= 1);
    }
    let log = segments(&disk).into_iter().filter(|path| path.starts_with(DIRECTORY));
    let log = log.collect::<Vec<_>>()[1].clone();
    disk.corrupt(&log, 2000, |bytes| bytes[0] ^= 1);
    let found = engine.scrub(&Scrub::Files, &mut |_| ControlFlow::Continue(())).unwrap();
    let found: Vec<_> = found.damages.iter().map(|damage| (&damage.file, damage.offset)).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], (&in_data("tree.redb"), 4 * BLOCK as u64));
    assert_eq!(found[1], (&in_data("tree.redb"), 60 * BLOCK as u64));
    assert_eq!(found[2].0, &log);
}

#[test]
fn a_log_without_segments_is_a_finding() {
    let disk = rich_store(Log::Whole);
    for path in segments(&disk).iter().filter(|path| path.starts_with(DIRECTORY)) {
        Disk::remove(&disk, path).unwrap();
    }
    let found = scrub(&disk, &Scrub::Files);
    assert_eq!((found.tree_damages, found.findings), (0, 1), "{found:?}");
}

#[test]
fn nothing_is_rebuilt_in_a_directory_that_is_in_use() {
    let disk = rich_store(Log::Whole);
    let files = disk.files();
    let level = Scrub::Rows { backup: None, scratch: COPY.into() };
    let error = Engine::scrub_directory(DIRECTORY, &level, &repeatable(&disk), &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(error.unwrap_err().to_string().contains(COPY));
    assert_eq!(disk.files(), files);
}

#[test]
fn an_unreadable_disk_is_a_finding() {
    let disk = rich_store(Log::Whole);
    let engine = open(&disk).unwrap();
    disk.set_unreadable(true);
    let found = engine.scrub(&Scrub::Files, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(found.tree_damages > 0 && found.findings > found.tree_damages, "{found:?}");
    let message = found.damages[0].to_string();
    assert!(message.contains("cannot be read"), "{message}");
}

#[test]
fn every_changed_byte_of_the_log_is_found() {
    let whole = rich_store(Log::Whole);
    let logs: Vec<PathBuf> =
        segments(&whole).into_iter().filter(|path| path.starts_with(DIRECTORY)).collect();
    let mut random = Random::new(8);
    for _ in 0..200 {
        let disk = whole.after_crash(0);
        let path = &logs[random.index(logs.len() - 1)];
        let at = random.index(disk.file_bytes(path).unwrap().len());
        disk.corrupt(path, at as u64, |bytes| bytes[0] ^= 1 << random.below(8));
        let found = scrub(&disk, &Scrub::Files);
        assert_eq!(found.tree_damages, 0);
        assert!(found.damages.iter().any(|damage| &damage.file == path), "{at} of {path:?}");
    }
}

/// The power is cut at every sync of a store that is written, whose file grows and whose blocks are
/// reused: torn blocks are not reported as damage.
#[test]
fn no_crash_leaves_apparent_damage() {
    let mut crashes = 0;
    for k in 1.. {
        let disk = SimDisk::new(k);
        disk.crash_at_sync(k);
        let Ok(engine) = open(&disk) else { continue };
        let written = engine_writes(&engine);
        drop(engine);
        if written.is_some() && !disk.crashed() {
            break;
        }
        for fate in 0..4 {
            let survived = disk.after_crash(k * 17 + fate);
            if !survived.files().contains(&in_data("format")) {
                continue;
            }
            assert_eq!(scrub(&survived, &Scrub::Files).damages, [], "sync {k}, fate {fate}");
            // Opened, written to and closed, it still has none.
            let engine = open(&survived).unwrap();
            let _ = put(&engine, &table("plain"), 77);
            drop(engine);
            assert_eq!(scrub(&survived, &Scrub::Files).damages, [], "sync {k}, fate {fate}");
            crashes += 1;
        }
    }
    assert!(crashes > 100, "{crashes}");
}

fn engine_writes(engine: &Engine) -> Option<()> {
    let plain = table("plain");
    let spec = TableSpec::new(plain.clone(), KeySchema::partition("id", KeyType::N));
    engine.create_table(spec).block_on().ok()?;
    for round in 0..12 {
        for id in 0..40 {
            put(engine, &plain, (id * 7 + round) % 200).ok()?;
        }
        engine.checkpoint().ok()?;
    }
    Some(())
}

#[test]
fn rows_that_differ_from_the_log_are_found() {
    let disk = rich_store(Log::Trimmed);
    // A store with rows that its log lacks: the tree of another history, with the same id.
    let fork = SimDisk::new(1);
    let copied = |disk: &SimDisk, name: &str| disk.file_bytes(format!("{COPY}/{name}")).unwrap();
    for name in ["format", "tree.redb"] {
        Disk::create_directory(&fork, DIRECTORY.as_ref()).unwrap();
        let file = Disk::open(&fork, &in_data(name), keyloom_store::OpenMode::Create).unwrap();
        file.write_at(0, &copied(&disk, name)).unwrap();
    }
    let logs = disk.files().into_iter().filter(|path| path.starts_with(format!("{COPY}/log")));
    Disk::create_directory(&fork, &in_data("log")).unwrap();
    for path in logs {
        let to = in_data("log").join(path.file_name().unwrap());
        let file = Disk::open(&fork, &to, keyloom_store::OpenMode::Create).unwrap();
        file.write_at(0, &disk.file_bytes(&path).unwrap()).unwrap();
    }
    let engine = open(&fork).unwrap();
    write(&engine, 7777);
    (151..320).for_each(|id| write(&engine, id));
    engine.close().unwrap();
    let tree = fork.file_bytes(in_data("tree.redb")).unwrap();
    Disk::remove(&disk, &in_data("tree.redb")).unwrap();
    let mode = keyloom_store::OpenMode::Create;
    Disk::open(&disk, &in_data("tree.redb"), mode).unwrap().write_at(0, &tree).unwrap();
    assert_eq!(scrub(&disk, &Scrub::Files).damages, [], "every checksum matches");
    let found = scrub(&disk, &rows(Some(COPY)));
    let messages: Vec<String> = found.damages.iter().map(ToString::to_string).collect();
    for expected in
        ["is not in the log", "is missing", "has different members", "has a different value"]
    {
        assert!(
            messages.iter().any(|message| message.contains(expected)),
            "{expected}: {messages:#?}"
        );
    }
}

#[test]
fn a_scrub_beside_writers_finds_nothing_and_blocks_nobody() {
    let disk = SimDisk::new(8);
    let options = Options {
        background: Background::Threads,
        log_segment_bytes: 64 << 10,
        ..repeatable(&disk)
    };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    let (stop, next) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Acquire) {
                    let id = next.fetch_add(1, Ordering::AcqRel);
                    put(&engine, &plain, (id * 7919 % 500) as i64).unwrap();
                    if id % 50 == 0 {
                        engine.checkpoint().unwrap();
                    }
                }
            });
        }
        let scrubbed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..30 {
                let level = if round % 10 == 9 { rows(None) } else { Scrub::Files };
                let before = next.load(Ordering::Acquire);
                assert_eq!(
                    engine.scrub(&level, &mut |_| ControlFlow::Continue(())).unwrap().damages,
                    []
                );
                while next.load(Ordering::Acquire) < before + 20 {
                    thread::yield_now();
                }
            }
        }));
        stop.store(true, Ordering::Release);
        scrubbed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Scrubs row by row while so many items are written and the log is trimmed after every few of them.
fn scrub_while_written(items: i64) -> (Result<Scrubbed, Error>, Status) {
    const KEEP_BYTES: u64 = 64 << 10;
    let disk = SimDisk::new(3);
    let options =
        Options { log_segment_bytes: 4 << 10, keep_log_bytes: KEEP_BYTES, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    (0..300).for_each(|id| put(&engine, &plain, id).unwrap());
    let (mut next, mut most) = (300, 0);
    let found = engine.scrub(&rows(None), &mut |found| {
        // Once the files are verified, and the rows are being built.
        if found.frames > 0 && next < 300 + items {
            for _ in 0..50 {
                put(&engine, &plain, next).unwrap();
                next += 1;
            }
            engine.checkpoint().unwrap();
            engine.settle().unwrap();
            most = most.max(engine.status().unwrap().log_bytes);
        }
        ControlFlow::Continue(())
    });
    assert!(most <= 2 * KEEP_BYTES + (64 << 10), "the log grew to {most} bytes");
    engine.settle().unwrap();
    (found, engine.status().unwrap())
}

#[test]
fn a_scrub_of_rows_keeps_the_log_that_it_needs() {
    let (found, status) = scrub_while_written(300);
    assert_eq!(found.unwrap().damages, []);
    assert!(status.oldest > 1, "afterwards the log is trimmed: {status:?}");
}

#[test]
fn a_scrub_of_rows_gives_way_to_a_log_that_grows_too_large() {
    let (found, status) = scrub_while_written(5000);
    let error = found.unwrap_err().to_string();
    assert!(error.contains("trimmed during the comparison") && error.contains("backup"), "{error}");
    assert!(status.failure.is_none() && status.oldest > 1, "{status:?}");
}

#[test]
fn a_scrub_of_rows_gives_way_on_a_disk_that_fills_up() {
    let disk = SimDisk::new(3);
    let options =
        Options { log_segment_bytes: 4 << 10, keep_log_bytes: 64 << 10, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    (0..300).for_each(|id| put(&engine, &plain, id).unwrap());
    let mut next = 300;
    let found = engine.scrub(&rows(None), &mut |found| {
        if found.frames > 0 && next == 300 {
            (300..600).for_each(|id| put(&engine, &plain, id).unwrap());
            next = 600;
            engine.checkpoint().unwrap();
            disk.set_space(100 << 20, 100 << 30);
            engine.settle().unwrap();
        }
        ControlFlow::Continue(())
    });
    assert!(found.unwrap_err().to_string().contains("nearly full"));
}
