//! The heartbeat of a process: leases end with the process that holds them.
//!
//! If only one process can have a store open, whoever took a job under an earlier opening is gone.
//! On a shared store, a process that calls [`Db::heartbeat`](crate::Db::heartbeat) has a row while
//! it runs jobs and writes it every two seconds; its jobs name it as their holder. If a row stays the
//! same for six seconds, other processes release the jobs of its process. Each measures that by its
//! own clock, so clocks need not agree. A process that was only paused finds its jobs changed and
//! cannot end them; that they run twice is what "at least once" allows. A process without heartbeat
//! takes jobs without a holder, which are released only when their lease ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Next;
use super::orphans::Orphans;
use super::worker::{Observation, Worker, Workers};
use crate::db::{Db, Shared};
use crate::error::Error;

/// How often a process that runs jobs writes its row.
const BEAT_MS: i64 = 2_000;
/// How old the row may be when a job is taken, and how long ago the heartbeat may have been called.
const FRESH_MS: u64 = 3_000;
/// How often a process reads the rows of the others.
const LOOK_MS: i64 = 1_000;
/// How long a row must stay the same until its process counts as gone: two writes may fail.
const SILENT_MS: i64 = 6_000;
/// The bound of ids: every JSON parser reads smaller integers exactly.
const IDS: u64 = 1 << 53;

/// What this process knows of its own heartbeat and of those of others.
#[derive(Debug, Default)]
pub(crate) struct Heart {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The id of this process, once it has one.
    id: Option<u64>,
    /// When the heartbeat was called last.
    called_ms: Option<i64>,
    /// The value in the row of this process.
    written_ms: Option<i64>,
    /// How many jobs are running.
    running: usize,
    /// Whether a job was taken since the row was written.
    is_used: bool,
    /// When to read the rows of others.
    look_ms: i64,
    /// The rows of others, as they were when they last changed.
    others: BTreeMap<u64, Sighting>,
}

/// A row of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sighting {
    seen: i64,
    /// Since when it has this value, by the clock of this process.
    since_ms: i64,
}

/// A job that is running in this process, until it is dropped.
#[derive(Debug)]
pub(crate) struct Running<'h>(&'h Heart);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
    }
}

impl Heart {
    /// Notes that a job is about to be taken.
    pub(crate) fn begin(&self) -> Running<'_> {
        self.lock().running += 1;
        Running(self)
    }

    /// Whether it is time to read the rows of others. If so, the caller does, and nobody else.
    pub(crate) fn is_time_to_look(&self, now_ms: i64) -> bool {
        let mut state = self.lock();
        let rest_ms = state.look_ms.saturating_sub(now_ms);
        // A clock that was set back must not prevent it.
        let is_time = !(1..=LOOK_MS).contains(&rest_ms);
        if is_time {
            state.look_ms = now_ms.saturating_add(LOOK_MS);
        }
        is_time
    }

    /// Notes the rows of others. Returns those of processes that count as gone.
    pub(crate) fn observe(&self, observation: Observation) -> Vec<Worker> {
        let Observation { rows, asked_ms, read_ms } = observation;
        let mut state = self.lock();
        let mut known = std::mem::take(&mut state.others);
        let mut gone = vec![];
        for row in rows {
            if Some(row.id) == state.id {
                continue;
            }
            let sighting = match known.remove(&row.id) {
                Some(before) if before.seen == row.seen => before,
                Some(_) | None => Sighting { seen: row.seen, since_ms: read_ms },
            };
            if asked_ms >= sighting.since_ms.saturating_add(SILENT_MS) {
                gone.push(row);
            }
            state.others.insert(row.id, sighting);
        }
        gone
    }

    /// Returns when the next of the others will have been silent for long enough.
    pub(crate) fn next_verdict_ms(&self) -> Option<i64> {
        let state = self.lock();
        let silent = state.others.values().map(|other| other.since_ms.saturating_add(SILENT_MS));
        silent.min().map(|silent_ms| silent_ms.max(state.look_ms))
    }

    pub(crate) fn forget(&self, worker: Worker) {
        self.lock().others.remove(&worker.id);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_called(&self, now_ms: i64) -> bool {
        self.called_ms.is_some_and(|called_ms| called_ms.abs_diff(now_ms) <= FRESH_MS)
    }

    fn is_fresh(&self, now_ms: i64) -> bool {
        self.written_ms.is_some_and(|written_ms| written_ms.abs_diff(now_ms) <= FRESH_MS)
    }
}

/// The heartbeat of this process.
#[derive(Clone, Copy)]
pub(crate) struct Heartbeat<'s> {
    shared: &'s Shared,
}

impl<'s> Heartbeat<'s> {
    pub(crate) fn new(shared: &'s Shared) -> Heartbeat<'s> {
        Heartbeat { shared }
    }

    /// Writes the row of this process if jobs are running, or were a moment ago.
    pub(crate) async fn call(self) -> Result<Next, Error> {
        let has_jobs = self.shared.schema().model().jobs().is_some();
        if !has_jobs || self.shared.store.opening().is_some() {
            return Ok(Next::Idle);
        }
        let now_ms = self.shared.now_ms();
        let is_needed = {
            let mut state = self.shared.heart.lock();
            state.called_ms = Some(now_ms);
            state.running > 0 || state.is_used
        };
        if is_needed {
            self.beat().await?;
        }
        Ok(Next::At(now_ms.saturating_add(BEAT_MS)))
    }

    /// Removes the row of this process, and releases its jobs.
    pub(crate) async fn stop(db: &Db) -> Result<(), Error> {
        let own = {
            let mut state = db.shared.heart.lock();
            state.called_ms = None;
            let written_ms = state.written_ms.take();
            state.id.take().zip(written_ms)
        };
        let Some((id, seen)) = own else { return Ok(()) };
        Orphans::new(db).bury(Worker { id, seen }).await.map(drop)
    }

    /// Returns the holder to store in a job that is taken now. None if nobody would notice that this
    /// process is gone before the lease ends.
    pub(crate) async fn holder(self) -> Result<Option<u64>, Error> {
        if let Some(opening) = self.shared.store.opening() {
            return Ok(Some(opening));
        }
        let now_ms = self.shared.now_ms();
        let (is_called, is_fresh) = {
            let state = self.shared.heart.lock();
            (state.is_called(now_ms), state.is_fresh(now_ms))
        };
        if !is_called {
            return Ok(None);
        }
        // The row comes before the job: whoever sees the holder of a job also sees its row.
        if !is_fresh {
            self.beat().await?;
        }
        let mut state = self.shared.heart.lock();
        state.is_used = true;
        Ok(state.id)
    }

    /// Writes the row of this process.
    async fn beat(self) -> Result<(), Error> {
        let now_ms = self.shared.now_ms();
        let drawn = self.shared.stamps.below(IDS)?;
        let own = {
            let mut state = self.shared.heart.lock();
            state.is_used = state.running > 0;
            let seen = state.written_ms.map_or(now_ms, |written_ms| now_ms.max(written_ms + 1));
            Worker { id: *state.id.get_or_insert(drawn), seen }
        };
        Workers::new(self.shared).put(own).await?;
        self.shared.heart.lock().written_ms = Some(own.seen);
        Ok(())
    }
}
