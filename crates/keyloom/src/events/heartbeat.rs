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
use super::worker::{BEAT_MS, Observation, Worker, Workers};
use crate::db::Db;
use crate::error::Error;
use crate::shared::Shared;

/// How often a process writes its row that only reads the feed.
const IDLE_BEAT_MS: i64 = 10_000;
/// How long a process counts as a reader of the feed after it has read.
const READING_MS: u64 = 60_000;
/// For how long a process is assumed to be alive without asking again.
const ALIVE_MS: u64 = 10_000;
/// How old the row may be when a job is taken, and how long ago the heartbeat may have been called.
const FRESH_MS: u64 = 3_000;
/// How often a process reads the rows of the others.
const LOOK_MS: i64 = 1_000;
/// How many beats a process may miss until it counts as gone, less one.
const BEATS: i64 = 3;
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
    /// How often the row says that it is written.
    every_ms: i64,
    /// When this process read the feed last.
    read_ms: Option<i64>,
    /// When others were seen to be alive that this process has asked for.
    alive: BTreeMap<u64, i64>,
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
    /// How often it should change.
    every_ms: i64,
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
                Some(_) | None => {
                    Sighting { seen: row.seen, since_ms: read_ms, every_ms: row.every_ms }
                }
            };
            if asked_ms >= sighting.silent_ms() {
                gone.push(row);
            }
            state.others.insert(row.id, sighting);
        }
        gone
    }

    /// Returns when the next of the others will have been silent for long enough.
    pub(crate) fn next_verdict_ms(&self) -> Option<i64> {
        let state = self.lock();
        let silent = state.others.values().map(|other| other.silent_ms());
        silent.min().map(|silent_ms| silent_ms.max(state.look_ms))
    }

    pub(crate) fn forget(&self, worker: Worker) {
        let mut state = self.lock();
        state.others.remove(&worker.id);
        state.alive.remove(&worker.id);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sighting {
    /// When its process counts as gone unless the row changes: some writes may fail.
    fn silent_ms(&self) -> i64 {
        self.since_ms.saturating_add(self.every_ms.saturating_mul(BEATS))
    }
}

impl State {
    fn is_busy(&self) -> bool {
        self.running > 0 || self.is_used
    }

    fn is_reading(&self, now_ms: i64) -> bool {
        self.read_ms.is_some_and(|read_ms| read_ms.abs_diff(now_ms) <= READING_MS)
    }

    /// Whether the row is as old as it says that it may be, or says that of a busy process.
    fn is_beat_due(&self, now_ms: i64) -> bool {
        let Some(written_ms) = self.written_ms else { return true };
        let age_ms = now_ms.abs_diff(written_ms);
        self.every_ms != IDLE_BEAT_MS || age_ms >= (IDLE_BEAT_MS - BEAT_MS / 2).unsigned_abs()
    }

    fn is_called(&self, now_ms: i64) -> bool {
        self.called_ms.is_some_and(|called_ms| called_ms.abs_diff(now_ms) <= FRESH_MS)
    }

    fn is_fresh(&self, now_ms: i64) -> bool {
        // A row that says it is written rarely would be watched for too long.
        self.every_ms == BEAT_MS
            && self.written_ms.is_some_and(|written_ms| written_ms.abs_diff(now_ms) <= FRESH_MS)
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

    /// Writes the row of this process if jobs are running, or were a moment ago, and less often if it
    /// reads the feed.
    pub(crate) async fn call(self) -> Result<Next, Error> {
        let has_jobs = self.shared.schema().model().jobs().is_some();
        if !has_jobs || self.shared.store.opening().is_some() {
            return Ok(Next::Idle);
        }
        let now_ms = self.shared.now_ms();
        let is_needed = {
            let mut state = self.shared.heart.lock();
            state.called_ms = Some(now_ms);
            state.is_busy() || (state.is_reading(now_ms) && state.is_beat_due(now_ms))
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
        Orphans::new(db).bury(Worker { id, seen, every_ms: BEAT_MS }).await.map(drop)
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

    /// Returns this process as a reader of the feed. None if it needs no lease, because no other can
    /// read, or can have none, because nobody would notice that it is gone.
    pub(crate) async fn reader(self) -> Result<Option<u64>, Error> {
        let now_ms = self.shared.now_ms();
        if self.shared.store.opening().is_some() {
            return Ok(None);
        }
        let has_row = {
            let mut state = self.shared.heart.lock();
            if !state.is_called(now_ms) {
                return Ok(None);
            }
            state.read_ms = Some(now_ms);
            let is_young = |written_ms: i64| written_ms.abs_diff(now_ms) <= READING_MS;
            state.id.is_some() && state.written_ms.is_some_and(is_young)
        };
        if !has_row {
            self.beat().await?;
        }
        Ok(self.shared.heart.lock().id)
    }

    /// Whether another process has a row. Asks rarely.
    pub(crate) async fn is_alive(self, other: u64) -> Result<bool, Error> {
        let now_ms = self.shared.now_ms();
        let seen_ms = self.shared.heart.lock().alive.get(&other).copied();
        if seen_ms.is_some_and(|seen_ms| seen_ms.abs_diff(now_ms) < ALIVE_MS) {
            return Ok(true);
        }
        let is_alive = Workers::new(self.shared).has(other).await?;
        let mut state = self.shared.heart.lock();
        state.alive.remove(&other);
        if is_alive {
            state.alive.insert(other, now_ms);
        }
        Ok(is_alive)
    }

    /// Writes the row of this process.
    async fn beat(self) -> Result<(), Error> {
        let now_ms = self.shared.now_ms();
        let drawn = self.shared.stamps.below(IDS)?;
        let own = {
            let mut state = self.shared.heart.lock();
            let every_ms = if state.is_busy() { BEAT_MS } else { IDLE_BEAT_MS };
            state.every_ms = every_ms;
            state.is_used = state.running > 0;
            let seen = state.written_ms.map_or(now_ms, |written_ms| now_ms.max(written_ms + 1));
            Worker { id: *state.id.get_or_insert(drawn), seen, every_ms }
        };
        Workers::new(self.shared).put(own).await?;
        self.shared.heart.lock().written_ms = Some(own.seen);
        Ok(())
    }
}
