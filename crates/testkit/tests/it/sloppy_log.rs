//! The canary: logs with the classic mistakes must be caught losing acknowledged records, and a
//! correct one must not. If the simulator became too lenient, these tests would fail first.

use std::io;
use std::path::Path;
use std::sync::Arc;

use keyloom_store::{Disk, DiskFile, OpenMode};
use keyloom_testkit::{Random, SimDisk};

/// The mistake of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// It acknowledges what is written but not synced.
    NoSync,
    /// It syncs the bytes of a new file but not its name.
    NoDirectorySync,
    /// It continues after a failed sync, as if a retry could help.
    SyncAgain,
}

/// More than a sector: a smaller record would be rewritten with its neighbours in the sector.
const RECORD_BYTES: usize = 600;

/// Records of a fixed size, eight per file; a record repeats its number, so that a torn or missing
/// one is detected.
struct Log {
    disk: SimDisk,
    mistake: Mistake,
    file: Option<Arc<dyn DiskFile>>,
    count: u64,
}

impl Log {
    fn append(&mut self) -> io::Result<()> {
        let place = self.count % 8;
        if place == 0 || self.file.is_none() {
            self.file = Some(self.disk.open(&file_path(self.count / 8), OpenMode::Create)?);
            if self.mistake != Mistake::NoDirectorySync {
                self.disk.sync_directory(Path::new("/log"))?;
            }
        }
        let file = self.file.as_ref().unwrap();
        file.write_at(place * RECORD_BYTES as u64, &record(self.count))?;
        match self.mistake {
            Mistake::NoSync => {}
            Mistake::SyncAgain => file.sync().or_else(|_| file.sync())?,
            Mistake::None | Mistake::NoDirectorySync => file.sync()?,
        }
        self.count += 1;
        Ok(())
    }
}

fn file_path(number: u64) -> std::path::PathBuf {
    Path::new("/log").join(format!("{number:04}"))
}

fn record(number: u64) -> [u8; RECORD_BYTES] {
    let bytes = (number + 1).to_le_bytes();
    std::array::from_fn(|index| bytes[index % 8])
}

/// Returns how many records are readable, from the first on, without a gap.
fn readable(disk: &SimDisk) -> u64 {
    for number in 0.. {
        let place = (number % 8) as usize * RECORD_BYTES;
        let file = disk.file_bytes(file_path(number / 8)).unwrap_or_default();
        if file.get(place..place + RECORD_BYTES) != Some(&record(number)) {
            return number;
        }
    }
    unreachable!("a log has an end")
}

/// Appends until the power is cut; returns whether everything acknowledged survived.
fn keeps_its_word(mistake: Mistake, seed: u64) -> bool {
    let disk = SimDisk::new(seed);
    let mut random = Random::new(seed);
    disk.create_directory(Path::new("/log")).unwrap();
    disk.crash_at_sync(2 + random.below(60));
    disk.fail_sync_at(2 + random.below(30));
    let mut log = Log { disk: disk.clone(), mistake, file: None, count: 0 };
    while log.count < 60 && log.append().is_ok() {}
    disk.crash_now();
    readable(&disk.after_crash(seed)) >= log.count
}

#[test]
fn a_log_that_syncs_keeps_what_it_acknowledged() {
    for seed in 0..500 {
        assert!(keeps_its_word(Mistake::None, seed), "seed {seed}");
    }
}

#[test]
fn every_sloppy_log_is_caught() {
    for mistake in [Mistake::NoSync, Mistake::NoDirectorySync, Mistake::SyncAgain] {
        let caught = (0..500).filter(|&seed| !keeps_its_word(mistake, seed)).count();
        assert!(caught > 100, "{mistake:?} was caught {caught} times of 500");
    }
}
