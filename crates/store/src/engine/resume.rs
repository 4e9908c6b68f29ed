//! Recovering from a transient fault: a full disk, exhausted file handles, a failed read or write.
//!
//! After a failed write or sync, the state of the disk is unknown, and redb accepts no more writes.
//! So the files are opened again, as at the start of a process: the last log segment is rewritten,
//! and what the tree on disk lacks is replayed. Readers keep their view until the new one is there.

use std::sync::Arc;

use crate::{Error, Failure};

use super::log::LogWriter;
use super::open::{OpenedFiles, open_files};
use super::queue::{Operation, Work};
use super::reply;
use super::shared::Shared;

/// Free space required before an attempt.
const PROBE_BYTES: u64 = 4 << 20;
/// Rounds of the background thread between two attempts: initially, and at most.
const PAUSE_ROUNDS_MIN: u32 = 20;
const PAUSE_ROUNDS_MAX: u32 = 640;

/// Decides when to try again.
#[derive(Debug)]
pub(crate) struct Retry {
    pause_rounds: u32,
    passed_rounds: u32,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { pause_rounds: PAUSE_ROUNDS_MIN, passed_rounds: 0 }
    }
}

impl Retry {
    /// Counts one round of background work; resumes a failed store when it is time to try. A store
    /// that soon fails again is tried less and less often.
    pub(crate) fn round(&mut self, shared: &Shared) {
        self.passed_rounds = self.passed_rounds.saturating_add(1);
        if self.passed_rounds < self.pause_rounds {
            return;
        }
        if !is_due(shared) {
            // It has worked for a while.
            if self.passed_rounds > 4 * self.pause_rounds {
                self.pause_rounds = PAUSE_ROUNDS_MIN;
            }
            return;
        }
        self.passed_rounds = 0;
        self.pause_rounds = (2 * self.pause_rounds).min(PAUSE_ROUNDS_MAX);
        // If it cannot resume, writers get the error that they already get.
        let _ = resume(shared);
    }
}

/// Whether something has failed that reopening the files may repair.
fn is_due(shared: &Shared) -> bool {
    match shared.check() {
        Ok(()) => shared.files().tree.file().can_read_again(),
        Err(Error::WritesRefused(failure)) => failure.may_pass(),
        Err(_) => false,
    }
}

/// Resumes a failed store, if the fault has passed.
pub(crate) fn resume(shared: &Shared) -> Result<(), Error> {
    if !is_due(shared) {
        return shared.check();
    }
    shared.files().log.probe(PROBE_BYTES)?;
    let resumed = reply::wait(shared.queue.submit(Work::Exclusive(Operation::Resume)));
    resumed.ok_or(Error::Closed)?.map(drop)
}

/// Reopens the files of a store. Runs on the committer's thread: nothing is written meanwhile.
pub(crate) fn open_again(shared: &Shared) -> Result<LogWriter, Error> {
    let before = shared.files();
    before.check_in_place()?;
    // Nothing of the old tree may reach the file anymore.
    let cause = std::io::Error::other("the store is being reopened");
    let replaced = Failure { doing: "writing the tree", path: shared.directory.clone(), cause };
    before.tree.file().freeze(&Arc::new(replaced));
    let opened = open_files(&shared.data_directory(), shared.ids, &shared.options);
    let OpenedFiles { files, view, writer } = opened.map_err(|error| shared.fail(error))?;
    if let Some(failure) = files.tree.file().failure() {
        return Err(Error::WritesRefused(failure));
    }
    shared.replace(files, view);
    Ok(writer)
}
