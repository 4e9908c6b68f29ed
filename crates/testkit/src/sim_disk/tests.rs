//! The simulator must really lose, tear and reorder, and must never lose what was synced.
//! Probabilities are counted over many seeds; the counts are the same on every run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use keyloom_store::{Disk, DiskFile, OpenMode};

use super::SimDisk;
use super::content::SECTOR_BYTES;
use crate::Random;

const DIRECTORY: &str = "/data";

fn path(name: &str) -> std::path::PathBuf {
    Path::new(DIRECTORY).join(name)
}

/// A disk with the test directory.
fn disk() -> SimDisk {
    let disk = SimDisk::new(1);
    disk.create_directory(Path::new(DIRECTORY)).unwrap();
    disk
}

/// A new file whose name is durable.
fn named_file(disk: &SimDisk, name: &str) -> Arc<dyn DiskFile> {
    let file = disk.open(&path(name), OpenMode::Create).unwrap();
    disk.sync_directory(Path::new(DIRECTORY)).unwrap();
    file
}

/// Counts each outcome over 400 seeds of a crash of this disk now.
fn outcomes<T: Ord>(disk: &SimDisk, outcome: impl Fn(&SimDisk) -> T) -> BTreeMap<T, u32> {
    let mut counts = BTreeMap::new();
    for seed in 0..400 {
        *counts.entry(outcome(&disk.after_crash(seed))).or_default() += 1;
    }
    counts
}

#[test]
fn reads_see_what_was_written_before_any_sync() {
    let disk = disk();
    let file = named_file(&disk, "a");
    file.write_at(600, b"later").unwrap();
    file.write_at(0, b"early").unwrap();
    let mut bytes = [1; 605];
    file.read_at(0, &mut bytes).unwrap();
    assert_eq!(
        (&bytes[..5], &bytes[5..600], &bytes[600..]),
        (&b"early"[..], &[0; 595][..], &b"later"[..])
    );
    let other = disk.open(&path("a"), OpenMode::Read).unwrap();
    assert_eq!(other.len().unwrap(), 605);
}

#[test]
fn synced_bytes_and_names_survive_every_crash() {
    let disk = disk();
    let file = named_file(&disk, "a");
    file.write_at(0, &[7; 5_000]).unwrap();
    file.set_len(4_000).unwrap();
    file.sync().unwrap();
    let counts = outcomes(&disk, |after| after.file_bytes(path("a")));
    assert_eq!(counts, BTreeMap::from([(Some(vec![7; 4_000]), 400)]));
}

#[test]
fn unsynced_writes_are_lost_kept_torn_and_reordered() {
    let disk = disk();
    let file = named_file(&disk, "a");
    let sectors = 12;
    file.set_len((sectors * SECTOR_BYTES) as u64).unwrap();
    file.sync().unwrap();
    for write in 0..4_u8 {
        let offset = u64::from(write) * 3 * SECTOR_BYTES as u64;
        file.write_at(offset, &[write + 1; 3 * SECTOR_BYTES]).unwrap();
    }
    let counts = outcomes(&disk, |after| {
        let bytes = after.file_bytes(path("a")).unwrap();
        let kept: Vec<bool> = bytes.chunks(SECTOR_BYTES).map(|sector| sector[0] != 0).collect();
        let first = kept.iter().take_while(|&&kept| kept).count();
        let is_prefix = kept[first..].iter().all(|&kept| !kept);
        match (is_prefix, first) {
            (true, 0) => "lost",
            (true, 12) => "kept",
            (true, first) if first % 3 != 0 => "torn",
            (true, _) => "cut between writes",
            (false, _) => "reordered",
        }
    });
    assert!(counts.len() == 5 && counts.values().all(|&count| count > 15), "{counts:?}");
}

#[test]
fn a_sector_holds_one_of_its_versions_and_never_a_mixture() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let disk = disk();
        let file = named_file(&disk, "a");
        let mut versions = vec![BTreeSet::from([vec![0; SECTOR_BYTES]]); 8];
        file.set_len(8 * SECTOR_BYTES as u64).unwrap();
        file.sync().unwrap();
        for number in 1..=30 {
            let offset = random.index(7 * SECTOR_BYTES);
            let bytes = vec![number; 1 + random.index(SECTOR_BYTES)];
            file.write_at(offset as u64, &bytes).unwrap();
            let now = disk.file_bytes(path("a")).unwrap();
            for (versions, sector) in versions.iter_mut().zip(now.chunks(SECTOR_BYTES)) {
                versions.insert(sector.to_vec());
            }
        }
        let survived = disk.after_crash(seed).file_bytes(path("a")).unwrap();
        for (versions, sector) in versions.iter().zip(survived.chunks(SECTOR_BYTES)) {
            assert!(versions.contains(sector), "seed {seed}");
        }
    }
}

#[test]
fn an_append_may_leave_a_tail_of_zeros() {
    let disk = disk();
    let file = named_file(&disk, "a");
    file.write_at(0, &[1; 2 * SECTOR_BYTES]).unwrap();
    let counts = outcomes(&disk, |after| {
        let bytes = after.file_bytes(path("a")).unwrap();
        (bytes.len() == 2 * SECTOR_BYTES, bytes.last() == Some(&0))
    });
    assert!(counts[&(true, true)] > 10, "{counts:?}");
    assert!(!counts.contains_key(&(false, true)), "a shorter file ends in what was written");
}

#[test]
fn an_unsynced_length_survives_or_not() {
    let disk = disk();
    let file = named_file(&disk, "a");
    file.write_at(0, &[1; 1_000]).unwrap();
    file.sync().unwrap();
    file.set_len(10).unwrap();
    let cut = outcomes(&disk, |after| after.file_bytes(path("a")).unwrap().len());
    assert!(cut.keys().eq(&[10, 1_000]) && cut.values().all(|&count| count > 100), "{cut:?}");
    file.sync().unwrap();
    file.set_len(2_000).unwrap();
    let grown = outcomes(&disk, |after| after.file_bytes(path("a")).unwrap());
    let expected = [vec![1; 10], [vec![1; 10], vec![0; 1_990]].concat()];
    assert!(grown.keys().len() == 2 && expected.iter().all(|bytes| grown.contains_key(bytes)));
}

#[test]
fn truncated_bytes_do_not_come_back_when_the_file_grows_again() {
    let disk = disk();
    let file = named_file(&disk, "a");
    file.write_at(0, &[1; 700]).unwrap();
    file.set_len(100).unwrap();
    file.write_at(690, &[2; 10]).unwrap();
    file.sync().unwrap();
    let expected = [vec![1; 100], vec![0; 590], vec![2; 10]].concat();
    assert_eq!(disk.file_bytes(path("a")).unwrap(), expected);
    assert_eq!(disk.after_crash(3).file_bytes(path("a")).unwrap(), expected);
}

#[test]
fn a_synced_file_without_a_synced_name_may_be_gone() {
    let disk = disk();
    let file = disk.open(&path("a"), OpenMode::Create).unwrap();
    file.write_at(0, b"x").unwrap();
    file.sync().unwrap();
    let counts = outcomes(&disk, |after| after.file_bytes(path("a")));
    assert!(counts.keys().eq(&[None, Some(b"x".to_vec())]), "{counts:?}");
    assert!(counts.values().all(|&count| count > 100), "{counts:?}");
}

#[test]
fn an_unsynced_removal_may_be_undone() {
    let disk = disk();
    named_file(&disk, "a");
    disk.remove(&path("a")).unwrap();
    assert_eq!(disk.list(Path::new(DIRECTORY)).unwrap(), Vec::<String>::new());
    let counts = outcomes(&disk, |after| after.files().len());
    assert!(counts.keys().eq(&[0, 1]), "{counts:?}");
    disk.sync_directory(Path::new(DIRECTORY)).unwrap();
    assert_eq!(outcomes(&disk, |after| after.files().len()), BTreeMap::from([(0, 400)]));
}

#[test]
fn a_rename_is_atomic_and_replaces() {
    let disk = disk();
    for name in ["old", "new"] {
        let file = named_file(&disk, name);
        file.write_at(0, name.as_bytes()).unwrap();
        file.sync().unwrap();
    }
    disk.rename(&path("new"), &path("old")).unwrap();
    let counts = outcomes(&disk, |after| (after.file_bytes(path("old")), after.files().len()));
    let before = (Some(b"old".to_vec()), 2);
    let after = (Some(b"new".to_vec()), 1);
    assert!(counts.keys().eq(&[after, before]), "{counts:?}");
}

#[test]
fn a_renamed_file_whose_bytes_were_not_synced_may_be_empty() {
    let disk = disk();
    let file = disk.open(&path("temporary"), OpenMode::Create).unwrap();
    file.write_at(0, b"x").unwrap();
    disk.rename(&path("temporary"), &path("final")).unwrap();
    disk.sync_directory(Path::new(DIRECTORY)).unwrap();
    let counts = outcomes(&disk, |after| after.file_bytes(path("final")).unwrap().len());
    assert!(counts.keys().eq(&[0, 1]), "{counts:?}");
}

#[test]
fn changes_of_different_names_are_reordered_and_of_one_name_are_not() {
    let disk = disk();
    disk.open(&path("a"), OpenMode::Create).unwrap();
    disk.open(&path("b"), OpenMode::Create).unwrap();
    disk.rename(&path("a"), &path("c")).unwrap();
    let counts = outcomes(&disk, |after| after.list(Path::new(DIRECTORY)).unwrap().concat());
    for names in ["", "a", "b", "c", "ab", "bc"] {
        assert!(counts.get(names).is_some_and(|&count| count > 5), "{names}: {counts:?}");
    }
    assert_eq!(counts.len(), 6, "{counts:?}");
}

#[test]
fn the_kth_sync_does_not_happen_and_nothing_does_after_it() {
    let disk = disk();
    let file = named_file(&disk, "a");
    let lock = disk.lock(Path::new(DIRECTORY)).unwrap().expect("the lock is free");
    disk.sync_directory(Path::new(DIRECTORY)).unwrap();
    disk.crash_at_sync(2);
    file.write_at(0, b"one").unwrap();
    file.sync().unwrap();
    file.write_at(0, b"two").unwrap();
    assert!(!disk.crashed());
    let error = file.sync().unwrap_err();
    assert_eq!(error.to_string(), "the power is gone");
    assert!(disk.crashed());
    assert!(file.len().is_err() && file.read_at(0, &mut [0]).is_err());
    assert!(file.write_at(0, b"x").is_err() && file.set_len(0).is_err() && file.sync().is_err());
    assert!(disk.list(Path::new(DIRECTORY)).is_err() && disk.lock(Path::new(DIRECTORY)).is_err());
    assert!(disk.open(&path("a"), OpenMode::Read).is_err() && disk.remove(&path("a")).is_err());
    let counts = outcomes(&disk, |after| after.file_bytes(path("a")).unwrap());
    assert!(counts.keys().eq(&[b"one".to_vec(), b"two".to_vec()]), "{counts:?}");
    assert!(disk.after_crash(0).lock(Path::new(DIRECTORY)).unwrap().is_some(), "a crash unlocks");
    drop(lock);
}

#[test]
fn a_crash_while_a_directory_is_created_leaves_none() {
    let disk = SimDisk::new(0);
    disk.crash_at_sync(1);
    assert!(disk.create_directory(Path::new("/x/y")).is_err());
    let after = disk.after_crash(0);
    assert_eq!(after.list(Path::new("/x")).unwrap_err().kind(), ErrorKind::NotFound);
    after.create_directory(Path::new("/x/y")).unwrap();
    assert!(after.after_crash(0).list(Path::new("/x/y")).unwrap().is_empty());
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed| {
        let disk = SimDisk::new(seed);
        let mut random = Random::new(seed);
        disk.set_capacity(40_000);
        disk.fail_sync_at(7);
        for number in 0..60_u8 {
            let at = Path::new("/").join(format!("f{}", random.below(4)));
            let file = disk.open(&at, OpenMode::ReadWrite);
            let file = file.or_else(|_| disk.open(&at, OpenMode::Create)).unwrap();
            let _ = file.write_at(random.below(20_000), &vec![number; random.index(3_000)]);
            if random.chance(1, 3) {
                let _ = file.sync();
                let _ = disk.sync_directory(Path::new("/"));
            }
        }
        let after = disk.after_crash(seed);
        after.files().into_iter().map(|file| (after.file_bytes(&file), file)).collect::<Vec<_>>()
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn writes_lost_by_a_failed_sync_stay_lost_although_reads_see_them() {
    let mut lost = 0;
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.create_directory(Path::new(DIRECTORY)).unwrap();
        let file = named_file(&disk, "a");
        file.write_at(0, &[1; SECTOR_BYTES]).unwrap();
        disk.fail_sync_at(1);
        assert!(file.sync().is_err());
        file.write_at(SECTOR_BYTES as u64, &[2; SECTOR_BYTES]).unwrap();
        file.sync().unwrap();
        let seen = disk.file_bytes(path("a")).unwrap();
        assert_eq!(seen, [[1; SECTOR_BYTES], [2; SECTOR_BYTES]].concat());
        let survived = disk.after_crash(seed).file_bytes(path("a")).unwrap();
        assert_eq!(survived[SECTOR_BYTES..], [2; SECTOR_BYTES]);
        lost += u32::from(survived[0] == 0);
    }
    assert!((20..80).contains(&lost), "{lost} of 100 were lost");
}

#[test]
fn a_failed_sync_of_a_directory_loses_names() {
    let mut lost = 0;
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.open(Path::new("/a"), OpenMode::Create).unwrap();
        disk.fail_sync_at(1);
        assert!(disk.sync_directory(Path::new("/")).is_err());
        disk.sync_directory(Path::new("/")).unwrap();
        assert_eq!(disk.list(Path::new("/")).unwrap(), ["a"]);
        lost += u32::from(disk.after_crash(seed).files().is_empty());
    }
    assert!((20..80).contains(&lost), "{lost} of 100 were lost");
}

#[test]
fn a_full_disk_refuses_growth_and_may_keep_the_first_bytes() {
    let mut lengths = BTreeSet::new();
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let file = disk.open(Path::new("/a"), OpenMode::Create).unwrap();
        file.write_at(0, &[1; 600]).unwrap();
        disk.set_capacity(1_000);
        assert_eq!(file.set_len(1_001).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(file.write_at(600, &[2; 500]).unwrap_err().kind(), ErrorKind::StorageFull);
        let len = file.len().unwrap();
        assert!((600..=1_000).contains(&len));
        lengths.insert(len);
        file.write_at(0, &[3; 600]).unwrap();
        file.set_len(1_000).unwrap();
        let create = disk.open(Path::new("/b"), OpenMode::Create);
        assert_eq!(create.unwrap_err().kind(), ErrorKind::StorageFull);
        file.set_len(10).unwrap();
        disk.open(Path::new("/b"), OpenMode::Create).unwrap();
    }
    assert!(lengths.contains(&600) && lengths.len() > 10, "{lengths:?}");
}

#[test]
fn a_read_only_disk_can_be_read_and_locked() {
    let disk = disk();
    let file = named_file(&disk, "a");
    let synced = disk.open(&path("a"), OpenMode::Read).unwrap();
    file.write_at(0, b"x").unwrap();
    synced.sync().unwrap();
    assert!(synced.write_at(0, b"y").is_err(), "it was opened for reading");
    disk.set_read_only(true);
    let refusals = [
        file.write_at(0, b"y"),
        file.set_len(0),
        disk.open(&path("a"), OpenMode::ReadWrite).map(drop),
        disk.open(&path("b"), OpenMode::Create).map(drop),
        disk.remove(&path("a")),
        disk.rename(&path("a"), &path("b")),
        disk.create_directory(Path::new("/other")),
    ];
    for refusal in refusals {
        assert_eq!(refusal.unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    }
    disk.create_directory(Path::new(DIRECTORY)).unwrap();
    synced.read_at(0, &mut [0]).unwrap();
    let lock = disk.lock(Path::new(DIRECTORY)).unwrap();
    assert!(lock.is_some() && disk.list(Path::new(DIRECTORY)).unwrap() == ["a"]);
    disk.set_read_only(false);
    file.write_at(0, b"z").unwrap();
}

#[test]
fn the_kth_write_fails_once() {
    let disk = disk();
    let file = named_file(&disk, "a");
    disk.fail_writes_at(3);
    file.write_at(0, b"aa").unwrap();
    file.set_len(4).unwrap();
    assert!(file.write_at(0, b"bb").is_err());
    file.write_at(2, b"cc").unwrap();
    assert_eq!(disk.write_count(), 4);
    let bytes = disk.file_bytes(path("a")).unwrap();
    assert!([b"aacc", b"bacc", b"bbcc"].iter().any(|legal| bytes == *legal), "{bytes:?}");
}

#[test]
fn syncs_are_counted_for_files_and_directories() {
    let disk = disk();
    let before = disk.sync_count();
    let file = named_file(&disk, "a");
    file.sync().unwrap();
    assert_eq!(disk.sync_count() - before, 2);
}

#[test]
fn damage_is_visible_and_persists() {
    let disk = disk();
    let file = named_file(&disk, "a");
    file.write_at(0, &[1; 10]).unwrap();
    disk.corrupt(path("a"), 4, |bytes| bytes[0] ^= 0xFF);
    let mut byte = [0];
    file.read_at(4, &mut byte).unwrap();
    assert_eq!(byte, [0xFE]);
    assert_eq!(disk.after_crash(0).file_bytes(path("a")).unwrap()[3..6], [1, 0xFE, 1]);
}

#[test]
fn a_run_that_never_syncs_has_bounded_memory() {
    let disk = disk();
    let file = named_file(&disk, "a");
    let block = vec![1; 4 << 20];
    for _ in 0..40 {
        file.write_at(0, &block).unwrap();
    }
    let inode = disk.inode(&path("a")).unwrap();
    assert!(inode.content().pending_bytes() <= 64 << 20);
    assert_eq!(disk.after_crash(0).file_bytes(path("a")).unwrap(), block);
}

#[test]
fn many_threads_write_their_own_parts() {
    let disk = disk();
    let file = named_file(&disk, "a");
    std::thread::scope(|scope| {
        for part in 0..4_u8 {
            let file = &file;
            scope.spawn(move || {
                for block in 0..50 {
                    let offset = (block * 4 + u64::from(part)) * 100;
                    file.write_at(offset, &[part + 1; 100]).unwrap();
                    file.sync().unwrap();
                }
            });
        }
    });
    let bytes = disk.after_crash(0).file_bytes(path("a")).unwrap();
    let right = |(index, byte): (usize, &u8)| usize::from(*byte) == index / 100 % 4 + 1;
    assert!(bytes.len() == 20_000 && bytes.iter().enumerate().all(right));
}
