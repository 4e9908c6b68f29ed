//! The background scrub: verifies the blocks of the tree and the closed segments of the log, a
//! little at a time, all of them once a day. It holds no view and no lock that others wait for.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Damage, Error, Time};

use super::checked_file::RUN_BLOCKS;
use super::files::Files;
use super::format::{BLOCK, CommitNo};
use super::found_damage::FoundDamage;
use super::log::{FrameScan, Segment};
use super::tree_damage::damage_of;

/// How long a pass takes, unless the rate limit makes it longer.
const PASS_MILLIS: u64 = 24 * 60 * 60 * 1000;
/// Bytes read in one round of the background thread, which runs 20 rounds a second: 5 MiB/s.
pub(crate) const ROUND_BYTES: u64 = 256 << 10;
/// What a round verifies, and where it reports damage.
#[derive(Clone, Copy)]
pub(crate) struct ScrubTarget<'a> {
    pub(crate) files: &'a Files,
    /// The path of the tree, for reports.
    pub(crate) tree: &'a Path,
    pub(crate) found: &'a FoundDamage,
    pub(crate) now: Time,
}

/// The background scrub of a store. Reports what it finds to the store's [`FoundDamage`].
#[derive(Debug, Default)]
pub(crate) struct BackgroundScrub {
    pass: Mutex<Option<Pass>>,
    blocks: AtomicU64,
    /// When the last complete pass ended, in milliseconds; 0 if there was none.
    completed_at: AtomicU64,
}

#[derive(Debug)]
struct Pass {
    started: Time,
    done_bytes: u64,
    at: At,
}

/// The position of a pass.
#[derive(Debug)]
enum At {
    /// At this block of the tree.
    Tree(u64),
    /// Before the first closed segment that begins with this commit or a later one.
    Log(CommitNo),
    /// Inside a segment.
    Segment(FrameScan),
    /// At the end, until the next pass begins.
    End,
}

impl BackgroundScrub {
    /// Verifies what is due now, about `bytes_max` bytes at most.
    pub(crate) fn round(&self, target: ScrubTarget<'_>, bytes_max: u64) {
        let ScrubTarget { files, now, .. } = target;
        let mut pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
        let pass = pass.get_or_insert_with(|| Pass::starting(now));
        let elapsed = now.0.saturating_sub(pass.started.0);
        if matches!(pass.at, At::End) {
            if elapsed >= PASS_MILLIS {
                *pass = Pass::starting(now);
            }
            return;
        }
        let due_bytes = pass.due_bytes(files, elapsed);
        let mut read_bytes = 0;
        while read_bytes < bytes_max && pass.done_bytes < due_bytes {
            let Some(bytes) = self.step(pass, target) else {
                pass.at = At::End;
                self.completed_at.store(now.0.max(1), Ordering::Relaxed);
                return;
            };
            pass.done_bytes += bytes;
            read_bytes += bytes;
        }
    }

    /// Verifies the next part; returns how many bytes it read, or `None` at the end.
    fn step(&self, pass: &mut Pass, target: ScrubTarget<'_>) -> Option<u64> {
        let ScrubTarget { files, found, .. } = target;
        let at = std::mem::replace(&mut pass.at, At::End);
        let (at, bytes) = match at {
            At::Tree(number) => self.step_tree(number, target),
            At::Log(first) => (At::Segment(open_segment(first, files, found)?), 0),
            At::Segment(scan) => step_segment(scan, files, found),
            At::End => return None,
        };
        pass.at = at;
        Some(bytes)
    }

    fn step_tree(&self, number: u64, target: ScrubTarget<'_>) -> (At, u64) {
        let (file, path) = (target.files.tree.file().checked(), target.tree);
        if number == 0
            && let Err(why) = file.verify_header()
        {
            target.found.note(damage_of(path, 0, &why));
        }
        match file.verify(number, RUN_BLOCKS) {
            Ok(verified) if verified.blocks > 0 => {
                for (offset, why) in &verified.damaged {
                    target.found.note(damage_of(path, *offset, why));
                }
                self.blocks.fetch_add(verified.blocks, Ordering::Relaxed);
                (At::Tree(number + verified.blocks), verified.blocks * BLOCK)
            }
            // A file whose length cannot even be read is noticed by its readers.
            Ok(_) | Err(_) => (At::Log(CommitNo::NONE), 0),
        }
    }

    /// Starts a new pass, because the tree was replaced by another one.
    pub(crate) fn start_again(&self) {
        *self.pass.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns how many tree blocks were verified since the store was opened.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Returns when the last complete pass ended.
    pub(crate) fn completed_at(&self) -> Option<Time> {
        let at = self.completed_at.load(Ordering::Relaxed);
        (at > 0).then_some(Time(at))
    }
}

impl Pass {
    fn starting(started: Time) -> Pass {
        Pass { started, done_bytes: 0, at: At::Tree(0) }
    }

    /// Returns how many bytes should have been verified by now to complete the pass in time.
    fn due_bytes(&self, files: &Files, elapsed_millis: u64) -> u64 {
        if elapsed_millis >= PASS_MILLIS {
            return u64::MAX;
        }
        let log_bytes = files.log.bytes().unwrap_or(0);
        let total = u128::from(files.tree.file().bytes() + log_bytes);
        let due = total * u128::from(elapsed_millis) / u128::from(PASS_MILLIS);
        // Whole runs only: each wake-up of the disk should be worth it.
        u64::try_from(due).unwrap_or(u64::MAX) / (RUN_BLOCKS * BLOCK) * (RUN_BLOCKS * BLOCK)
    }
}

/// Opens the first readable closed segment at or after a commit.
fn open_segment(first: CommitNo, files: &Files, found: &FoundDamage) -> Option<FrameScan> {
    let segments = files.log.segments();
    let (_, closed) = segments.split_last()?;
    let mut closed = closed.iter().filter(|segment| segment.first >= first);
    closed.find_map(|segment| {
        let opened = segment.verify_header().and_then(|()| FrameScan::new(segment));
        opened.map_err(|error| record_log_damage(error, segment, files, found)).ok()
    })
}

fn step_segment(mut scan: FrameScan, files: &Files, found: &FoundDamage) -> (At, u64) {
    let segment = Arc::clone(scan.segment());
    let before = scan.offset();
    let next = At::Log(segment.first.next());
    match scan.next() {
        Ok(Some(frame)) => {
            let bytes = scan.offset() - before;
            match frame.commits() {
                Ok(_) => (At::Segment(scan), bytes),
                Err(error) => {
                    record_log_damage(error, &segment, files, found);
                    (next, bytes)
                }
            }
        }
        Ok(None) => {
            let follower =
                files.log.segments().into_iter().find(|other| other.first > segment.first);
            if follower.is_some_and(|follower| follower.first != scan.expected()) {
                record_log_damage(scan.hole(), &segment, files, found);
            }
            (next, 0)
        }
        Err(error) => {
            record_log_damage(error, &segment, files, found);
            (next, 0)
        }
    }
}

/// Records what is wrong with a segment, unless it has been trimmed meanwhile.
fn record_log_damage(error: Error, segment: &Arc<Segment>, files: &Files, found: &FoundDamage) {
    if !files.log.has(segment) {
        return;
    }
    found.note(match error {
        Error::Damaged(damage) => (*damage).clone(),
        other => {
            let what = format!("a log segment cannot be read ({other})");
            Damage { file: segment.path.clone(), offset: 0, what }
        }
    });
}
