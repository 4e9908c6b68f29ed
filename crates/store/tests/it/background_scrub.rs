//! The background scrub: everything once a day, at a limited rate, and each damage counted once.

use std::path::PathBuf;
use std::sync::Arc;

use keyloom_store::{Clock, Engine, Options, Status};
use keyloom_testkit::{ManualClock, SimDisk};

use crate::rich::{Log, rich_store, write};
use crate::rig::{DIRECTORY, in_data, repeatable, segments};

const HOUR_MS: u64 = 60 * 60 * 1000;
const BLOCK: u64 = 4096;

struct Rig {
    disk: SimDisk,
    clock: ManualClock,
    engine: Engine,
}

impl Rig {
    fn new() -> Rig {
        Rig::keeping(u64::MAX)
    }

    fn keeping(keep_log_secs: u64) -> Rig {
        let (disk, clock) = (rich_store(Log::Whole), ManualClock::new());
        let options = Options {
            log_segment_bytes: 16 << 10,
            keep_log_secs,
            clock: Arc::new(clock.clone()),
            ..repeatable(&disk)
        };
        let engine = Engine::open(DIRECTORY, options).unwrap();
        // More rows than one read of the scrub covers.
        (400..1200).for_each(|id| write(&engine, id));
        engine.checkpoint().unwrap();
        engine.settle().unwrap();
        Rig { disk, clock, engine }
    }

    fn after(&self, hours: u64) -> Status {
        self.clock.advance_ms(hours * HOUR_MS);
        self.engine.settle().unwrap();
        self.engine.status().unwrap()
    }

    fn log(&self) -> Vec<PathBuf> {
        let of_store = |path: &PathBuf| path.starts_with(DIRECTORY);
        segments(&self.disk).into_iter().filter(of_store).collect()
    }
}

#[test]
fn everything_is_verified_once_a_day_step_by_step() {
    let rig = Rig::new();
    let start = rig.engine.status().unwrap();
    assert_eq!((start.scrubbed_blocks, start.scrubbed_at), (0, None));
    let blocks = start.tree_bytes / BLOCK;
    let bytes = start.tree_bytes + start.log_bytes;
    let mut before = 0;
    for hour in 1..24 {
        let status = rig.after(1);
        let due = (bytes * hour / 24 / BLOCK).min(blocks);
        assert!(status.scrubbed_blocks <= due + 64, "hour {hour}: {status:?}");
        assert!(status.scrubbed_blocks + 128 >= due, "hour {hour}: {status:?}");
        assert!(status.scrubbed_blocks >= before && status.scrubbed_at.is_none());
        before = status.scrubbed_blocks;
    }
    let status = rig.after(1);
    // The file also has blocks of checksums, and copies of its first one.
    let verified = status.scrubbed_blocks;
    assert!(verified <= blocks && verified + 8 >= blocks, "{verified} of {blocks}");
    assert_eq!((status.scrubbed_at, status.damages), (Some(rig.clock.now()), 0));
    // The next pass begins, and ends a day later.
    rig.after(0);
    assert_eq!(rig.after(24).scrubbed_blocks, 2 * verified);
}

#[test]
fn damage_is_found_anywhere_and_counted_once() {
    let rig = Rig::new();
    let tree = in_data("tree.redb");
    rig.disk.corrupt(&tree, 70 * BLOCK, |bytes| bytes[5] ^= 1);
    let log = rig.log()[2].clone();
    rig.disk.corrupt(&log, 3000, |bytes| bytes[0] ^= 1);
    let status = rig.after(24);
    assert_eq!(status.damages, 2);
    assert_eq!(status.last_damage.unwrap().file, log);
    rig.after(0);
    assert_eq!(rig.after(24).damages, 2, "the same positions");
    rig.disk.corrupt(&tree, 90 * BLOCK, |bytes| bytes[5] ^= 1);
    rig.after(0);
    let status = rig.after(24);
    assert_eq!(status.damages, 3);
    let last = status.last_damage.unwrap();
    assert_eq!((&last.file, last.offset), (&tree, 90 * BLOCK));
    assert!(status.failure.is_none(), "intact data can be read and written");
}

#[test]
fn concurrent_trimming_and_writing_are_not_reported_as_damage() {
    let rig = Rig::keeping(5 * 3600);
    let segments = rig.log().len();
    for hour in 0..60 {
        write(&rig.engine, 2000 + hour);
        if hour % 3 == 0 {
            rig.engine.checkpoint().unwrap();
        }
        let status = rig.after(1);
        assert_eq!(status.damages, 0, "{status:?}");
    }
    assert!(rig.engine.status().unwrap().scrubbed_at.is_some());
    assert!(rig.log().len() < segments, "the log was trimmed");
}
