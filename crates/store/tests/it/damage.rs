//! Damage on disk is reported with its position and left alone; what a crash leaves is repaired.

use keyloom_store::{DirectoryError, Engine, Error, Options};
use keyloom_testkit::{Random, SimDisk};

use crate::rig::{
    DIRECTORY, count, has, in_data, numbered, open, plain_table, put, repeatable, segments, table,
};

/// Returns a disk with a closed store of numbered items.
fn disk_with_items(items: i64) -> SimDisk {
    let disk = SimDisk::new(1);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    for id in 0..items {
        put(&engine, &plain, id).unwrap();
    }
    disk.crash_now();
    drop(engine);
    disk.after_crash(0)
}

/// Returns the offsets of the frames of the first segment.
fn frames(disk: &SimDisk) -> Vec<u64> {
    let bytes = disk.file_bytes(&segments(disk)[0]).unwrap();
    let found = bytes.windows(4).enumerate().filter(|(_, window)| window == b"KLFR");
    found.map(|(offset, _)| offset as u64).collect()
}

fn damage(outcome: Result<Engine, Error>) -> String {
    match outcome {
        Err(error @ Error::Damaged(_)) => error.to_string(),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("the damage was not noticed"),
    }
}

#[test]
fn a_changed_byte_inside_the_log_is_reported_with_file_and_offset_and_left_alone() {
    let disk = disk_with_items(10);
    let (path, offset) = (&segments(&disk)[0], frames(&disk)[4]);
    disk.corrupt(path, offset + 50, |bytes| bytes[0] ^= 0x20);
    let before = disk.file_bytes(path).unwrap();
    for _ in 0..2 {
        let text = damage(open(&disk));
        assert!(text.contains(&path.display().to_string()), "{text}");
        assert!(text.contains(&offset.to_string()), "{text}");
    }
    assert_eq!(disk.file_bytes(path).unwrap(), before, "damage must not be overwritten");
}

#[test]
fn every_byte_of_every_synced_frame_but_the_last_is_guarded() {
    let whole = disk_with_items(4);
    let frames = frames(&whole);
    let path = &segments(&whole)[0];
    let last = *frames.last().unwrap();
    for offset in 0..last {
        let disk = whole.after_crash(0);
        disk.corrupt(path, offset, |bytes| bytes[0] ^= 1);
        damage(open(&disk));
    }
}

#[test]
fn a_torn_tail_is_cut_and_everything_before_it_is_there() {
    let whole = disk_with_items(10);
    // After a power failure, the end mark may be missing.
    keyloom_store::Disk::remove(&whole, &in_data("log/end")).unwrap();
    let path = &segments(&whole)[0];
    let last = *frames(&whole).last().unwrap();
    let len = whole.file_bytes(path).unwrap().len() as u64;
    for at in last..len {
        let disk = whole.after_crash(0);
        disk.corrupt(path, at, |bytes| bytes[0] ^= 0xff);
        let engine = open(&disk).unwrap();
        let plain = table("plain");
        assert_eq!(count(&engine, &plain), 9, "byte {at}");
        assert!(!has(&engine, &plain, 9));
        put(&engine, &plain, 77).unwrap();
        drop(engine);
        let engine = open(&disk).unwrap();
        assert!(has(&engine, &plain, 77) && has(&engine, &plain, 8));
    }
}

#[test]
fn after_a_killed_process_every_byte_of_the_last_frame_is_guarded() {
    let disk = disk_with_items(3);
    let engine = open(&disk).unwrap();
    put(&engine, &table("plain"), 3).unwrap();
    // The process ends without closing its store; what it wrote is in its files.
    let files: Vec<_> = disk.files();
    files.iter().for_each(|path| disk.corrupt(path, 0, |_| {}));
    let whole = disk.after_crash(0);
    drop(engine);
    let path = &segments(&whole)[0];
    let last = *frames(&whole).last().unwrap();
    let len = whole.file_bytes(path).unwrap().len() as u64;
    for at in last..len {
        let disk = whole.after_crash(0);
        disk.corrupt(path, at, |bytes| bytes[0] ^= 0x10);
        let before = disk.file_bytes(path).unwrap();
        let text = damage(open(&disk));
        assert!(text.contains("/data/log/end") && text.contains("acknowledged"), "{text}");
        assert_eq!(disk.file_bytes(path).unwrap(), before, "damage must not be overwritten");
        keyloom_store::Disk::remove(&disk, &in_data("log/end")).unwrap();
        assert_eq!(count(&open(&disk).unwrap(), &table("plain")), 3, "byte {at}");
    }
}

#[test]
fn a_missing_segment_is_reported() {
    let disk = SimDisk::new(3);
    let options = Options { log_segment_bytes: 2048, ..repeatable(&disk) };
    let engine = Engine::open(DIRECTORY, options.clone()).unwrap();
    let plain = plain_table(&engine);
    (0..200).for_each(|id| put(&engine, &plain, id).unwrap());
    disk.crash_now();
    drop(engine);
    let disk = disk.after_crash(0);
    let paths = segments(&disk);
    assert!(paths.len() > 4);
    let options = Options { disk: std::sync::Arc::new(disk.clone()), ..options };
    let removed = &paths[2];
    keyloom_store::Disk::remove(&disk, removed).unwrap();
    let text = damage(Engine::open(DIRECTORY, options));
    assert!(text.contains(&paths[3].display().to_string()), "{text}");
}

#[test]
fn a_segment_of_another_store_is_refused() {
    let disk = disk_with_items(3);
    let foreign = {
        let other = SimDisk::new(9);
        let options = repeatable(&other);
        let engine = Engine::open("/elsewhere", options).unwrap();
        let plain = plain_table(&engine);
        put(&engine, &plain, 1).unwrap();
        drop(engine);
        other.file_bytes(&segments(&other)[0]).unwrap()
    };
    disk.corrupt(&segments(&disk)[0], 0, |bytes| {
        let len = bytes.len().min(foreign.len());
        bytes[..len].copy_from_slice(&foreign[..len]);
    });
    let text = damage(open(&disk));
    assert!(text.contains("another store"), "{text}");
}

#[test]
fn another_format_version_is_refused_with_both_versions() {
    let disk = disk_with_items(1);
    disk.corrupt(in_data("format"), 0, |bytes| {
        let at = bytes.windows(8).position(|window| window == b"format 5").unwrap();
        bytes[at + 7] = b'9';
    });
    let error = open(&disk).unwrap_err();
    assert!(matches!(error, Error::Directory(DirectoryError::Format { .. })));
    let text = error.to_string();
    assert!(text.contains("format 9") && text.contains("format 5"), "{text}");
}

#[test]
fn a_foreign_directory_is_refused() {
    let disk = SimDisk::new(0);
    keyloom_store::Disk::create_directory(&disk, std::path::Path::new(DIRECTORY)).unwrap();
    let mode = keyloom_store::OpenMode::Create;
    keyloom_store::Disk::open(&disk, &in_data("thesis.tex"), mode).unwrap();
    let text = open(&disk).unwrap_err().to_string();
    assert!(text.contains("thesis.tex"), "{text}");
}

#[test]
fn two_engines_cannot_open_one_directory() {
    let disk = SimDisk::new(0);
    let first = open(&disk).unwrap();
    let text = open(&disk).unwrap_err().to_string();
    assert!(text.contains(DIRECTORY), "{text}");
    drop(first);
    open(&disk).unwrap();
}

/// Changes any byte of any file, many times over: opening and reading either works or reports what
/// is wrong. What the log still vouches for is never answered wrongly.
#[test]
fn random_damage_anywhere_never_panics() {
    let whole = {
        let disk = disk_with_items(40);
        let engine = open(&disk).unwrap();
        engine.checkpoint().unwrap();
        let plain = table("plain");
        (40..60).for_each(|id| put(&engine, &plain, id).unwrap());
        disk.crash_now();
        drop(engine);
        disk.after_crash(1)
    };
    let mut random = Random::new(7);
    for _ in 0..600 {
        let disk = whole.after_crash(0);
        let files = disk.files();
        let path = &files[random.index(files.len())];
        let len = disk.file_bytes(path).unwrap().len();
        if len == 0 {
            continue;
        }
        for _ in 0..=random.below(3) {
            let flip = random.next_u64() as u8 | 1;
            disk.corrupt(path, random.index(len) as u64, |bytes| bytes[0] ^= flip);
        }
        let Ok(engine) = open(&disk) else { continue };
        for id in 0..60 {
            let key = keyloom_value::Item::from([("id", id)]);
            let get = keyloom_store::Get::new(&table("plain"), key);
            let read = pollster::block_on(keyloom_store::Read::get(&engine, get));
            if path.extension().is_some_and(|extension| extension == "log")
                && let Ok(Some(item)) = read
            {
                assert_eq!(item, numbered(id));
            }
        }
        let _ = put(&engine, &table("plain"), 99);
    }
}
