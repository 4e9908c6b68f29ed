//! The contract of every `Disk`, tested on the system's file system and on the simulated one, so
//! that what passes on the simulator holds on the system.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use keyloom_store::{Disk, OpenMode, RealDisk};
use keyloom_testkit::SimDisk;

/// Runs a check in an empty directory of each disk.
fn on_each_disk(check: impl Fn(&dyn Disk, &Path)) {
    let simulated = SimDisk::new(0);
    simulated.create_directory(Path::new("/data")).unwrap();
    check(&simulated, Path::new("/data"));
    let place = Scratch::new();
    check(&RealDisk, &place.0);
}

/// A directory that is removed when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyloom-disk-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_created_once_and_opened_only_if_it_exists() {
    on_each_disk(|disk, directory| {
        let path = directory.join("a");
        for mode in [OpenMode::Read, OpenMode::ReadWrite] {
            assert_eq!(disk.open(&path, mode).unwrap_err().kind(), ErrorKind::NotFound);
        }
        disk.open(&path, OpenMode::Create).unwrap();
        let again = disk.open(&path, OpenMode::Create).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        disk.open(&path, OpenMode::ReadWrite).unwrap().write_at(0, b"x").unwrap();
        let reader = disk.open(&path, OpenMode::Read).unwrap();
        assert!(reader.write_at(0, b"y").is_err() && reader.set_len(0).is_err());
        let elsewhere = disk.open(&directory.join("no/a"), OpenMode::Create).unwrap_err();
        assert_eq!(elsewhere.kind(), ErrorKind::NotFound);
    });
}

#[test]
fn bytes_are_read_back_where_they_were_written() {
    on_each_disk(|disk, directory| {
        let file = disk.open(&directory.join("a"), OpenMode::Create).unwrap();
        file.write_at(3, b"defg").unwrap();
        file.write_at(0, b"ab").unwrap();
        file.write_at(100, b"").unwrap();
        assert_eq!(file.len().unwrap(), 7);
        let mut bytes = [9; 7];
        file.read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"ab\0defg");
        file.sync().unwrap();
    });
}

#[test]
fn a_read_past_the_end_is_an_error() {
    on_each_disk(|disk, directory| {
        let file = disk.open(&directory.join("a"), OpenMode::Create).unwrap();
        file.write_at(0, b"abc").unwrap();
        for offset in [1, 3, 4, 1 << 40] {
            let error = file.read_at(offset, &mut [0; 3]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{offset}");
        }
        file.read_at(99, &mut []).unwrap();
    });
}

#[test]
fn a_file_is_truncated_and_extended_with_zeros() {
    on_each_disk(|disk, directory| {
        let file = disk.open(&directory.join("a"), OpenMode::Create).unwrap();
        file.write_at(0, b"abcdef").unwrap();
        file.set_len(2).unwrap();
        file.set_len(4).unwrap();
        let mut bytes = [9; 4];
        file.read_at(0, &mut bytes).unwrap();
        assert_eq!((&bytes, file.len().unwrap()), (b"ab\0\0", 4));
    });
}

#[test]
fn files_and_directories_are_listed_in_order() {
    on_each_disk(|disk, directory| {
        for name in ["b", "a", "B", "10", "9"] {
            disk.open(&directory.join(name), OpenMode::Create).unwrap();
        }
        disk.create_directory(&directory.join("c/d")).unwrap();
        disk.create_directory(&directory.join("c/d")).unwrap();
        assert_eq!(disk.list(directory).unwrap(), ["10", "9", "B", "a", "b", "c"]);
        assert_eq!(disk.list(&directory.join("c")).unwrap(), ["d"]);
        assert!(disk.list(&directory.join("c/d")).unwrap().is_empty());
        let missing = disk.list(&directory.join("x")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        disk.sync_directory(directory).unwrap();
        let missing = disk.sync_directory(&directory.join("x")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    });
}

#[test]
fn names_are_removed_and_replaced() {
    on_each_disk(|disk, directory| {
        let path = |name: &str| directory.join(name);
        for name in ["a", "b"] {
            let file = disk.open(&path(name), OpenMode::Create).unwrap();
            file.write_at(0, name.as_bytes()).unwrap();
        }
        disk.rename(&path("a"), &path("a")).unwrap();
        disk.rename(&path("a"), &path("b")).unwrap();
        assert_eq!(disk.list(directory).unwrap(), ["b"]);
        let file = disk.open(&path("b"), OpenMode::Read).unwrap();
        disk.remove(&path("b")).unwrap();
        let mut byte = [0];
        file.read_at(0, &mut byte).unwrap();
        assert_eq!(&byte, b"a", "an open file outlives its name");
        for missing in [disk.remove(&path("b")), disk.rename(&path("b"), &path("c"))] {
            assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
        }
    });
}

#[test]
fn a_lock_is_held_by_one_until_it_is_dropped() {
    on_each_disk(|disk, directory| {
        let other = directory.join("other");
        disk.create_directory(&other).unwrap();
        let lock = disk.lock(directory).unwrap();
        assert!(lock.is_some());
        assert!(disk.lock(directory).unwrap().is_none());
        assert!(disk.lock(&other).unwrap().is_some());
        drop(lock);
        assert!(disk.lock(directory).unwrap().is_some());
        let missing = disk.lock(&directory.join("missing")).map(drop).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    });
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_can_be_locked() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    let place = Scratch::new();
    fs::set_permissions(&place.0, fs::Permissions::from_mode(0o555)).unwrap();
    let held = RealDisk.lock(&place.0).unwrap();
    assert!(held.is_some());
    assert!(RealDisk.lock(&place.0).unwrap().is_none());
    fs::set_permissions(&place.0, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_knows_whether_its_path_still_refers_to_it() {
    on_each_disk(|disk, directory| {
        let path = |name: &str| directory.join(name);
        let create = |name: &str| disk.open(&path(name), OpenMode::Create).unwrap();
        let first = create("first");
        assert!(first.is_at(&path("first")).unwrap());
        assert!(!first.is_at(&path("second")).unwrap());
        let second = create("second");
        disk.rename(&path("second"), &path("first")).unwrap();
        assert!(!first.is_at(&path("first")).unwrap() && second.is_at(&path("first")).unwrap());
        disk.remove(&path("first")).unwrap();
        assert!(!second.is_at(&path("first")).unwrap());
    });
}

#[cfg(unix)]
#[test]
fn created_files_are_private_to_the_user() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    let place = Scratch::new();
    let directory = place.0.join("data");
    RealDisk.create_directory(&directory).unwrap();
    RealDisk.open(&directory.join("file"), OpenMode::Create).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&directory.join("file"))), (0o700, 0o600));
}
