//! A directory is ours or it is left unchanged. Commands once emptied directories that had lost
//! their format file, and the `log` folder of any other program.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use keyloom_store::{DirectoryError, Disk, Engine, Error, Moment, OpenMode, Restore};
use keyloom_testkit::SimDisk;

use crate::rig::{DIRECTORY, count, in_data, open, plain_table, put, repeatable, segments, table};

/// Returns every file with its bytes.
fn snapshot(disk: &SimDisk) -> BTreeMap<PathBuf, Vec<u8>> {
    disk.files().into_iter().map(|path| (path.clone(), disk.file_bytes(&path).unwrap())).collect()
}

fn write(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    disk.create_directory(path.parent().unwrap()).unwrap();
    let file = disk.open(path, OpenMode::Create).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync().unwrap();
    disk.sync_directory(path.parent().unwrap()).unwrap();
}

/// A closed store with three items in [`DIRECTORY`].
fn disk_with_store() -> SimDisk {
    let disk = SimDisk::new(0);
    let engine = open(&disk).unwrap();
    let plain = plain_table(&engine);
    (0..3).for_each(|id| put(&engine, &plain, id).unwrap());
    engine.close().unwrap();
    disk
}

/// Runs everything that opens or creates a store in [`DIRECTORY`].
fn attempts(disk: &SimDisk) -> Vec<Result<(), Error>> {
    let restore = |from: &str, to: &str| {
        let [backup, target] = [from, to].map(PathBuf::from);
        let restore = Restore { backup, logs: vec![], to: Moment::Latest, target };
        Engine::restore(&restore, &repeatable(disk), &mut |_| ControlFlow::Continue(())).map(drop)
    };
    vec![
        open(disk).map(drop),
        Engine::open_existing(DIRECTORY, repeatable(disk)).map(drop),
        restore(DIRECTORY, "/new"),
    ]
}

#[test]
fn a_directory_that_is_not_provably_ours_is_refused_and_left_as_it_is() {
    let segment = format!("log/{:020}.log", 1);
    let foreign: &[&[(&str, &[u8])]] = &[
        &[("thesis.tex", b"chapter 1")],
        &[("log/access.log", b"GET /")],
        &[("log/access.log", b"GET /"), ("lock", b"")],
        &[(&segment, b"somebody else's")],
        &[("tree.redb", b"")],
        &[("tree.redb", b"redb"), (&segment, b"KEYLOOM\n")],
        &[("lock", b"pid 12")],
        &[("format.new", b"keyloom data directory\nformat 5\nstore 0000000000000001\n")],
        &[("keyloom-unfinished", b"mine")],
        &[("keyloom-unfinished", UNFINISHED), ("thesis.tex", b"chapter 1")],
        &[("keyloom-unfinished", UNFINISHED), ("log/access.log", b"GET /")],
        &[("keyloom-unfinished", UNFINISHED), (&segment, b"somebody else's")],
        &[("format", b"")],
        &[("format", b"png"), ("tree.redb", b"")],
    ];
    for files in foreign {
        let disk = SimDisk::new(0);
        for (name, bytes) in *files {
            write(&disk, &in_data(name), bytes);
        }
        let before = snapshot(&disk);
        for outcome in attempts(&disk) {
            let error = outcome.expect_err("it is refused");
            let text = error.to_string();
            assert!(text.contains("/data") && text.contains("Nothing was changed"), "{text}");
            assert_eq!(snapshot(&disk), before, "{files:?}");
        }
    }
}

const UNFINISHED: &[u8] = b"keyloom data directory, unfinished\nstore 0000000000000001\n";

#[test]
fn a_store_without_its_format_file_keeps_its_data_and_the_error_says_how_to_repair_it() {
    let disk = disk_with_store();
    disk.remove(&in_data("format")).unwrap();
    let before = snapshot(&disk);
    for outcome in attempts(&disk) {
        let error = outcome.expect_err("it is refused");
        assert!(matches!(error, Error::Directory(DirectoryError::FormatMissing { .. })), "{error}");
        assert_eq!(snapshot(&disk), before);
    }
    let Err(Error::Directory(DirectoryError::FormatMissing { file, format })) = open(&disk) else {
        unreachable!()
    };
    write(&disk, &file, format.unwrap().as_bytes());
    assert_eq!(count(&open(&disk).unwrap(), &table("plain")), 3);
}

#[test]
fn a_mark_of_an_unfinished_store_does_not_clear_one_that_has_data() {
    let disk = disk_with_store();
    let format = String::from_utf8(disk.file_bytes(in_data("format")).unwrap()).unwrap();
    let store = format.lines().last().unwrap();
    let mark = format!("keyloom data directory, unfinished\n{store}\n");
    write(&disk, &in_data("keyloom-unfinished"), mark.as_bytes());
    disk.remove(&in_data("format")).unwrap();
    let before = snapshot(&disk);
    for outcome in attempts(&disk) {
        outcome.expect_err("the log has frames");
        assert_eq!(snapshot(&disk), before);
    }
    // With its format file the store is complete, and opening it removes the mark.
    write(&disk, &in_data("format"), format.as_bytes());
    assert_eq!(count(&open(&disk).unwrap(), &table("plain")), 3);
    assert!(disk.file_bytes(in_data("keyloom-unfinished")).is_none());
}

#[test]
fn foreign_files_beside_our_segments_stay() {
    let disk = disk_with_store();
    let foreign = ["log/zzz.log", "log/spare-time.txt", "log/99.log"];
    for name in foreign {
        write(&disk, &in_data(name), b"somebody else's");
    }
    let engine = open(&disk).unwrap();
    assert_eq!(count(&engine, &table("plain")), 3);
    put(&engine, &table("plain"), 4).unwrap();
    engine.close().unwrap();
    for name in foreign {
        assert_eq!(disk.file_bytes(in_data(name)).unwrap(), b"somebody else's", "{name}");
    }
}

#[test]
fn a_last_segment_that_is_not_blank_is_reported_and_stays() {
    let disk = disk_with_store();
    let foreign = in_data(&format!("log/{:020}.log", 99));
    write(&disk, &foreign, b"somebody else's");
    let error = open(&disk).unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error}");
    assert_eq!(disk.file_bytes(&foreign).unwrap(), b"somebody else's");
    assert_eq!(segments(&disk).len(), 2);
}

#[test]
fn open_existing_creates_nothing() {
    let disk = SimDisk::new(0);
    for made in [false, true] {
        if made {
            disk.create_directory(Path::new(DIRECTORY)).unwrap();
        }
        let error = Engine::open_existing(DIRECTORY, repeatable(&disk)).unwrap_err();
        assert!(matches!(error, Error::Directory(DirectoryError::NoStore { .. })), "{error}");
        assert!(disk.files().is_empty());
        assert_eq!(disk.list(Path::new("/")).unwrap().contains(&"data".to_owned()), made);
    }
}

#[test]
fn a_crash_at_every_sync_of_a_creation_leaves_what_opens_again() {
    for k in 1.. {
        let disk = SimDisk::new(k);
        disk.crash_at_sync(k);
        let created = open(&disk).is_ok();
        for fate in 0..32 {
            let survived = disk.after_crash(k * 101 + fate);
            let engine = open(&survived).expect("a crash leaves what opens");
            let plain = plain_table(&engine);
            put(&engine, &plain, 1).unwrap();
            drop(engine);
            assert_eq!(count(&open(&survived).unwrap(), &plain), 1);
            assert!(survived.file_bytes(in_data("keyloom-unfinished")).is_none());
        }
        if created && !disk.crashed() {
            return;
        }
    }
}

/// A file of an open store is moved away, removed or replaced by another.
#[test]
fn writes_are_refused_once_a_file_of_the_store_is_no_longer_at_its_path() {
    let segment = |disk: &SimDisk| segments(disk)[0].clone();
    let tree = |_: &SimDisk| in_data("tree.redb");
    for victim in [segment as fn(&SimDisk) -> PathBuf, tree] {
        for is_replaced in [false, true] {
            let disk = disk_with_store();
            let engine = open(&disk).unwrap();
            let (plain, path) = (table("plain"), victim(&disk));
            put(&engine, &plain, 7).unwrap();
            disk.remove(&path).unwrap();
            if is_replaced {
                write(&disk, &path, b"somebody else's");
            }
            let _ = engine.settle();
            let before = snapshot(&disk);
            let refused = put(&engine, &plain, 8).unwrap_err().to_string();
            assert!(refused.contains("moved, removed or replaced"), "{refused}");
            assert_eq!(count(&engine, &plain), 4, "reads continue");
            drop(engine);
            assert_eq!(snapshot(&disk), before, "nothing is written to what is not ours");
        }
    }
}
