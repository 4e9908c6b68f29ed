//! Stores that diverge from the one they were copied from: the same numbers refer to other commits,
//! and a position of one is never mistaken for a position of another.

use std::path::Path;

use keyloom_store::{
    Engine, Error, FeedStart, Invalid, Moment, Options, ReadChanges, SeqNo, ShardId, Store,
};
use keyloom_testkit::SimDisk;
use pollster::FutureExt;

use crate::copies::{BACK, COPY, copy, restore};
use crate::rig::{DIRECTORY, fed_table, open, put, repeatable, table};

const ITEMS: i64 = 12;

fn open_at(disk: &SimDisk, directory: &str) -> Engine {
    Engine::open(directory, repeatable(disk)).unwrap()
}

fn shard(engine: &Engine) -> ShardId {
    engine.shards(table("fed")).block_on().unwrap().remove(0).id
}

/// Returns every position of a store's feed.
fn positions(engine: &Engine) -> Vec<(ShardId, SeqNo)> {
    let (table, shard) = (table("fed"), shard(engine));
    let read = ReadChanges { table, shard: shard.clone(), start: FeedStart::Oldest, limit: 1000 };
    let changes = engine.changes(read).block_on().unwrap().changes;
    changes.iter().map(|change| (shard.clone(), change.seq)).collect()
}

fn read_after(engine: &Engine, (shard, seq): &(ShardId, SeqNo)) -> Result<usize, Error> {
    let (table, start) = (table("fed"), FeedStart::After(*seq));
    let read = ReadChanges { table, shard: shard.clone(), start, limit: 1000 };
    engine.changes(read).block_on().map(|page| page.changes.len())
}

/// A closed store with a backup in the middle of its history.
fn disk_with_backup() -> SimDisk {
    let disk = SimDisk::new(1);
    let engine = open(&disk).unwrap();
    let fed = fed_table(&engine);
    (0..ITEMS).for_each(|id| put(&engine, &fed, id).unwrap());
    copy(&engine, COPY).unwrap();
    (ITEMS..2 * ITEMS).for_each(|id| put(&engine, &fed, id).unwrap());
    engine.close().unwrap();
    disk
}

#[test]
fn a_feed_position_is_refused_by_every_copy_that_has_diverged() {
    let disk = disk_with_backup();
    restore(&disk, Moment::Commit(18), BACK).unwrap();
    let stores: Vec<Engine> =
        [DIRECTORY, COPY, BACK].into_iter().map(|path| open_at(&disk, path)).collect();
    for engine in &stores {
        // Every number that the others have used is passed.
        (0..4 * ITEMS).for_each(|id| put(engine, &table("fed"), 100 + id).unwrap());
    }
    for (own, engine) in stores.iter().enumerate() {
        let all = positions(engine);
        assert!(all.len() as i64 >= 4 * ITEMS);
        for (other, reader) in stores.iter().enumerate() {
            for position in &all {
                match read_after(reader, position) {
                    Ok(_) => assert_eq!(own, other, "{position:?} is taken for another store's"),
                    Err(Error::Invalid(Invalid::Shard { .. })) => assert_ne!(own, other),
                    Err(error) => panic!("{position:?}: {error}"),
                }
            }
        }
    }
}

#[test]
fn a_backup_that_is_read_stays_as_it_is_and_one_that_is_written_keeps_its_new_history() {
    let disk = disk_with_backup();
    let format = Path::new(COPY).join("format");
    let before = disk.file_bytes(&format).unwrap();
    let read_only = Options { read_only: true, ..repeatable(&disk) };
    drop(Engine::open_existing(COPY, read_only).unwrap());
    assert_eq!(disk.file_bytes(&format).unwrap(), before);
    let first = open_at(&disk, COPY);
    put(&first, &table("fed"), 1).unwrap();
    let (name, position) = (shard(&first), positions(&first));
    first.close().unwrap();
    let again = open_at(&disk, COPY);
    assert_eq!((shard(&again), positions(&again)), (name, position));
    // A copy of the copy diverges from both.
    copy(&again, "/second").unwrap();
    assert_ne!(shard(&open_at(&disk, "/second")), shard(&again));
}

#[test]
fn a_published_history_survives_a_crash_at_any_sync() {
    let mut crashes = 0;
    for k in 1.. {
        let disk = disk_with_backup().after_crash(k);
        disk.crash_at_sync(k);
        let written = Engine::open(COPY, repeatable(&disk)).and_then(|engine| {
            put(&engine, &table("fed"), 1)?;
            Ok(shard(&engine))
        });
        if !disk.crashed() {
            assert!(crashes > 3, "{crashes}");
            return;
        }
        for fate in 0..8 {
            let survived = disk.after_crash(k * 31 + fate);
            let engine = open_at(&survived, COPY);
            put(&engine, &table("fed"), 2).unwrap();
            if let Ok(name) = &written {
                assert_eq!(&shard(&engine), name, "sync {k}, fate {fate}");
            }
            crashes += 1;
        }
    }
}

#[test]
fn a_backup_on_a_full_disk_can_be_read_and_diverges_once_there_is_space() {
    let disk = disk_with_backup();
    let format = Path::new(COPY).join("format");
    disk.set_capacity(0);
    let engine = open_at(&disk, COPY);
    assert!(matches!(put(&engine, &table("fed"), 1), Err(Error::WritesRefused(_))));
    assert!(disk.file_bytes(&format).unwrap().ends_with(b"\nbackup\n"));
    disk.set_capacity(u64::MAX);
    engine.settle().unwrap();
    put(&engine, &table("fed"), 1).unwrap();
    let name = shard(&engine);
    engine.close().unwrap();
    assert_eq!(shard(&open_at(&disk, COPY)), name);
}

#[test]
fn a_changed_history_is_refused() {
    let disk = disk_with_backup();
    open_at(&disk, COPY).close().unwrap();
    let format = Path::new(COPY).join("format");
    let text = disk.file_bytes(&format).unwrap();
    let line = text.windows(8).position(|window| window == b"history ").unwrap();
    for at in line..text.len() {
        disk.corrupt(&format, at as u64, |bytes| bytes[0] ^= 1);
        let error = Engine::open(COPY, repeatable(&disk)).map(drop).unwrap_err();
        assert!(error.to_string().contains("/copy/format"), "{error}");
        disk.corrupt(&format, at as u64, |bytes| bytes[0] ^= 1);
    }
    open_at(&disk, COPY).close().unwrap();
}
