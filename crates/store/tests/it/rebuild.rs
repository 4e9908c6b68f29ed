//! Rebuilding a damaged tree: everything is as it was, whatever was damaged and whenever the power
//! is cut; and nothing is rebuilt from what does not belong to the store.

use std::ops::ControlFlow;
use std::path::Path;

use keyloom_store::{CopyProgress, Disk, Engine, Error, Scrub};
use keyloom_testkit::{Random, SimDisk};

use crate::copies::{COPY, assert_same, copy, histories};
use crate::rich::{Log, everything, rich_store, scrub, write};
use crate::rig::{DIRECTORY, in_data, open, repeatable};

const BLOCK: usize = 4096;
/// Number of damaged trees for each way to rebuild them.
const DAMAGES: u32 = 60;
/// Seeds for what survives of unsynced writes, tried for every crash.
const FATES: u64 = 4;

fn rebuild(disk: &SimDisk, backup: Option<&str>) -> Result<CopyProgress, Error> {
    Engine::rebuild(DIRECTORY, backup.map(Path::new), &repeatable(disk), &mut |_| {
        ControlFlow::Continue(())
    })
}

/// Damages the tree in some positions, in one of the ways that disks do.
pub(crate) fn damage(disk: &SimDisk, random: &mut Random) {
    let path = in_data("tree.redb");
    let bytes = disk.file_bytes(&path).unwrap();
    let blocks = bytes.len() / BLOCK;
    for _ in 0..=random.below(3) {
        let block = random.index(blocks) * BLOCK;
        let other = random.index(blocks) * BLOCK;
        let kind = random.below(5);
        disk.corrupt(&path, block as u64, |block| match kind {
            0 | 1 => block[random.index(BLOCK)] ^= 1 << random.below(8),
            2 => block[..BLOCK].fill(0),
            3 => block[..BLOCK].copy_from_slice(&bytes[other..other + BLOCK]),
            _ => block[..BLOCK].reverse(),
        });
        if random.chance(1, 10) {
            // Both copies of the header.
            for copy in [0, 2] {
                disk.corrupt(&path, copy * BLOCK as u64, |bytes| bytes[99] ^= 4);
            }
        }
    }
}

#[test]
fn whatever_is_damaged_a_rebuilt_tree_has_everything() {
    for (log, backup) in [(Log::Whole, None), (Log::Trimmed, Some(COPY)), (Log::Whole, Some(COPY))]
    {
        let whole = rich_store(log);
        let expected = everything(&whole.after_crash(0));
        let mut random = Random::new(17);
        for number in 0..histories(DAMAGES) {
            let disk = whole.after_crash(0);
            damage(&disk, &mut random);
            let made = rebuild(&disk, backup).unwrap();
            assert_eq!(scrub(&disk, &Scrub::Files).damages, []);
            let found = everything(&disk);
            assert_same(&found.0, &expected.0, &format!("damage {number} with {log:?}"));
            assert_eq!(found.1, expected.1, "the column");
            let engine = open(&disk).unwrap();
            assert_eq!(engine.status().unwrap().commit, made.commit);
            write(&engine, 999);
        }
    }
}

#[test]
fn a_missing_or_truncated_tree_is_rebuilt() {
    let whole = rich_store(Log::Trimmed);
    let expected = everything(&whole.after_crash(0));
    for len in [None, Some(0), Some(3 * BLOCK as u64), Some(40 * BLOCK as u64)] {
        let disk = whole.after_crash(0);
        match len {
            None => Disk::remove(&disk, &in_data("tree.redb")).unwrap(),
            Some(len) => {
                let mode = keyloom_store::OpenMode::ReadWrite;
                Disk::open(&disk, &in_data("tree.redb"), mode).unwrap().set_len(len).unwrap();
            }
        }
        assert!(scrub(&disk, &Scrub::Tree).tree_damages > 0, "cut to {len:?}");
        rebuild(&disk, Some(COPY)).unwrap();
        assert_same(&everything(&disk).0, &expected.0, &format!("cut to {len:?}"));
    }
}

#[test]
fn a_crash_at_every_sync_of_rebuilding_leaves_the_old_tree_or_the_new_one() {
    for (log, backup) in [(Log::Whole, None), (Log::Trimmed, Some(COPY))] {
        let whole = rich_store(log);
        let expected = everything(&whole.after_crash(0));
        let at = whole.file_bytes(in_data("tree.redb")).unwrap().len() / 2 / BLOCK * BLOCK;
        whole.corrupt(in_data("tree.redb"), at as u64, |bytes| bytes[..BLOCK].fill(7));
        let damages = scrub(&whole, &Scrub::Tree).tree_damages;
        assert!(damages > 0);
        let mut outcomes = [0, 0];
        for k in 1.. {
            let disk = whole.after_crash(0);
            disk.crash_at_sync(k);
            let outcome = rebuild(&disk, backup);
            if !disk.crashed() {
                outcome.unwrap();
                assert!(k > 10, "rebuilding must use the disk");
                break;
            }
            for fate in 0..FATES {
                let survived = disk.after_crash(k * 31 + fate);
                let found = scrub(&survived, &Scrub::Files);
                assert!([0, damages].contains(&found.findings), "{found:?}");
                outcomes[usize::from(found.findings == 0)] += 1;
                drop(open(&survived).expect("it opens before and after"));
                let files = survived.files();
                assert!(!files.contains(&in_data("tree.new")), "{files:?}");
                if found.findings > 0 {
                    rebuild(&survived, backup).unwrap();
                }
                assert_same(&everything(&survived).0, &expected.0, &format!("sync {k}"));
            }
        }
        assert!(outcomes.iter().all(|outcome| *outcome > 0), "{outcomes:?}");
    }
}

#[test]
fn a_disk_that_is_full_or_fails_leaves_everything_as_it_was() {
    let whole = rich_store(Log::Whole);
    whole.corrupt(in_data("tree.redb"), 50_000, |bytes| bytes[..BLOCK].fill(7));
    let tree = whole.file_bytes(in_data("tree.redb")).unwrap();
    let used: usize = whole.files().iter().map(|path| whole.file_bytes(path).unwrap().len()).sum();
    for room in [0, 10_000, tree.len() / 2] {
        let disk = whole.after_crash(0);
        disk.set_capacity((used + room) as u64);
        let error = rebuild(&disk, None).unwrap_err().to_string();
        assert!(error.contains("free space") && error.contains(&tree.len().to_string()), "{error}");
        assert_eq!(disk.files(), whole.files());
        assert_eq!(disk.file_bytes(in_data("tree.redb")).unwrap(), tree);
    }
    for k in [1, 2, 5, 20] {
        let disk = whole.after_crash(0);
        disk.fail_writes_at(k);
        rebuild(&disk, None).unwrap_err();
        assert_eq!(disk.file_bytes(in_data("tree.redb")).unwrap(), tree);
        rebuild(&disk, None).unwrap();
    }
}

#[test]
fn only_a_backup_that_the_log_continues_is_used() {
    let whole = rich_store(Log::Trimmed);
    whole.corrupt(in_data("tree.redb"), 50_000, |bytes| bytes[..BLOCK].fill(7));
    let files = whole.files();
    let refused = |disk: &SimDisk, backup, expected: &str| {
        let tree = disk.file_bytes(in_data("tree.redb"));
        let error = rebuild(disk, backup).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(disk.file_bytes(in_data("tree.redb")), tree, "nothing was changed");
    };
    refused(&whole, None, "The log begins with commit");
    // Of another store.
    let disk = whole.after_crash(0);
    let other = Engine::open("/other", repeatable(&disk)).unwrap();
    copy(&other, "/of-other").unwrap();
    refused(&disk, Some("/of-other"), "another store");
    // A backup that was written to is a store of its own, and so is a backup of that.
    let disk = whole.after_crash(0);
    let fork = Engine::open(COPY, repeatable(&disk)).unwrap();
    write(&fork, 5000);
    fork.checkpoint().unwrap();
    copy(&fork, "/of-fork").unwrap();
    drop(fork);
    refused(&disk, Some(COPY), "written to since it was made");
    refused(&disk, Some("/of-fork"), "differs from the one in the log");
    // A backup that is too old.
    let disk = whole.after_crash(0);
    let segments = crate::rig::segments(&disk);
    let last = segments.iter().filter(|path| path.starts_with(DIRECTORY)).count() - 1;
    for path in segments.iter().filter(|path| path.starts_with(DIRECTORY)).take(last) {
        Disk::remove(&disk, path).unwrap();
    }
    refused(&disk, Some(COPY), "use a later backup");
    assert_eq!(whole.files(), files);
}
