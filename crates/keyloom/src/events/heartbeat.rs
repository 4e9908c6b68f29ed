//! Leases that end with the process that held them.
//!
//! Where one process alone can have a store open, whoever took a job under another opening is gone.
//! On a shared store, a process that calls [`Db::heartbeat`] has a row while it runs jobs, writes it
//! again every two seconds, and its jobs name it as their holder:
//!
//! ```text
//! ("m", "worker") / id   seen: when it was written, and more each time; when it expires
//! ```
//!
//! The others release the jobs of a row that stays the same for six seconds. Each measures that by
//! its own clock, so it does not matter what time it is elsewhere. A process that was only paused
//! finds its jobs changed and cannot end them; that they run twice is what "at least once" allows.
//! A process without heartbeat takes jobs without a holder: these have their lease and nothing else.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_model::RowKey;
use keyloom_model::attribute::{EXPIRY, PARTITION, SORT};
use keyloom_store::{Delete, Error as StoreError, Put, Query};
use keyloom_value::{Condition, Item, KeyBytes, KeyCondition, Number, Path, Value};

use super::handlers::Effects;
use super::job::{BY_STATUS, JOB, Status};
use super::run_jobs::is_passing;
use super::{Next, Work};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;

/// How often a process that runs jobs writes its row.
const BEAT_MS: i64 = 2_000;
/// How old the row may be when a job is taken, and how long ago the heartbeat may have been called.
const FRESH_MS: u64 = 3_000;
/// How often a process looks at the rows of the others.
const LOOK_MS: i64 = 1_000;
/// For how long a row must stay the same until its process counts as gone: two writes may fail.
const SILENT_MS: i64 = 6_000;
/// How long a row is kept that nobody writes or removes. No lease is as long.
const KEPT_SECS: i64 = 30 * 24 * 3600;
/// Ids are below this bound, so that every reader of JSON gets them right.
const IDS: u64 = 1 << 53;

const NAME: &str = "worker";
const SEEN: &str = "seen";

/// What this process knows of its own heartbeat and of those of others.
#[derive(Debug, Default)]
pub(crate) struct Heart {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The id of this process, once it has one.
    id: Option<u64>,
    /// When [`Db::heartbeat`] was called last.
    called_ms: Option<i64>,
    /// What the row of this process says.
    written_ms: Option<i64>,
    /// How many jobs are running.
    running: usize,
    /// Whether a job was taken since the row was written.
    is_used: bool,
    /// When to look at the rows of others.
    look_ms: i64,
    /// The rows of others, as they were when they last changed.
    others: BTreeMap<u64, Sighting>,
}

/// A row of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sighting {
    seen: i64,
    /// Since when it says so, by the clock of this process.
    since_ms: i64,
}

/// The row of a process that runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    id: u64,
    seen: i64,
}

/// That a job is running here; it is not any more when this is dropped.
#[derive(Debug)]
pub(crate) struct Running<'h>(&'h Heart);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
    }
}

impl Heart {
    /// A job is about to be taken.
    pub(crate) fn begin(&self) -> Running<'_> {
        self.lock().running += 1;
        Running(self)
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

    /// Notes what the rows of others say; the processes that count as gone.
    fn judge(&mut self, rows: Vec<Worker>, (asked_ms, now_ms): (i64, i64)) -> Vec<Worker> {
        let mut known = std::mem::take(&mut self.others);
        let mut gone = vec![];
        for row in rows.into_iter().filter(|row| Some(row.id) != self.id) {
            let sighting = match known.remove(&row.id) {
                Some(before) if before.seen == row.seen => before,
                Some(_) | None => Sighting { seen: row.seen, since_ms: now_ms },
            };
            if asked_ms >= sighting.since_ms.saturating_add(SILENT_MS) {
                gone.push(row);
            }
            self.others.insert(row.id, sighting);
        }
        gone
    }

    /// When the next of the others will have been silent for long enough, and is looked at.
    fn judged_ms(&self) -> Option<i64> {
        let silent = self.others.values().map(|other| other.since_ms.saturating_add(SILENT_MS));
        silent.min().map(|silent_ms| silent_ms.max(self.look_ms))
    }
}

impl Worker {
    /// Whether a row of Keyloom's own is one.
    pub(crate) fn is_at(partition: &[u8]) -> bool {
        partition == RowKey::system(NAME, &[]).partition.as_bytes()
    }

    pub(crate) fn read(row: &Item) -> Option<Worker> {
        let sort = KeyBytes::decode(row.get(SORT)?.as_b()?).ok()?;
        let [id] = &sort[..] else { return None };
        let id = u64::try_from(id.as_n()?.to_i64()?).ok()?;
        Some(Worker { id, seen: row.get(SEEN)?.as_n().and_then(Number::to_i64)? })
    }

    fn key(id: u64) -> Item {
        RowKey::system(NAME, &[Value::from(id)]).to_item()
    }

    fn to_item(self, now_ms: i64) -> Item {
        let mut item = Worker::key(self.id);
        item.insert(SEEN, self.seen);
        item.insert(EXPIRY, now_ms.div_euclid(1000).saturating_add(KEPT_SECS));
        item
    }
}

impl Db {
    /// Tells the processes that share this store that this one is alive. Call it every two seconds,
    /// beside [`Db::work`] and not in turn with it: handlers may take long. If this process dies or
    /// stalls, another one runs its jobs after about six seconds. Without heartbeat, jobs of a dead
    /// process wait until their lease ends.
    ///
    /// Writes one row if jobs are running or were a moment ago, and nothing otherwise. Answers when to
    /// call it again: [`Next::Idle`] if it need not be called, because processes do not share this
    /// store or the model has no jobs.
    ///
    /// # Errors
    ///
    /// If the store fails. Call it again soon.
    pub fn heartbeat(&self) -> Answer<'_, Next> {
        Box::pin(async move {
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
        })
    }

    /// Ends the heartbeat of this process, once its workers have stopped: another process can run
    /// at once what they have left.
    ///
    /// # Errors
    ///
    /// If the store fails. Then other processes find out after six seconds.
    pub fn stop_heartbeat(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let own = {
                let mut state = self.shared.heart.lock();
                state.called_ms = None;
                let written_ms = state.written_ms.take();
                state.id.take().zip(written_ms)
            };
            let Some((id, seen)) = own else { return Ok(()) };
            self.bury(Worker { id, seen }).await.map(drop)
        })
    }

    /// The name under which a job is taken now: none if nobody would notice that this process is
    /// gone before the lease ends.
    pub(crate) async fn holder(&self) -> Result<Option<u64>, Error> {
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
        // The row comes before the job: whoever sees that this process holds one sees that it lives.
        if !is_fresh {
            self.beat().await?;
        }
        let mut state = self.shared.heart.lock();
        state.is_used = true;
        Ok(state.id)
    }

    /// Writes the row of this process.
    async fn beat(&self) -> Result<(), Error> {
        let now_ms = self.shared.now_ms();
        let drawn = self.shared.stamps.below(IDS)?;
        let own = {
            let mut state = self.shared.heart.lock();
            state.is_used = state.running > 0;
            let seen = state.written_ms.map_or(now_ms, |written_ms| now_ms.max(written_ms + 1));
            Worker { id: *state.id.get_or_insert(drawn), seen }
        };
        self.shared.store.put(Put::new(&self.shared.table, own.to_item(now_ms))).await?;
        self.shared.heart.lock().written_ms = Some(own.seen);
        Ok(())
    }

    /// Makes jobs due whose process is gone.
    pub(crate) async fn release_orphans(&self, work: &mut Work) -> Result<(), Error> {
        match self.shared.store.opening() {
            Some(opening) => self.release_earlier(opening, work).await,
            None => self.release_silent(work).await,
        }
    }

    /// Where no other process can have the store: once after each opening.
    async fn release_earlier(&self, opening: u64, work: &mut Work) -> Result<(), Error> {
        if self.shared.are_orphans_released.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.release(|holder| holder != Some(opening)).await {
            Err(Error::Building { .. }) => return Ok(()),
            Ok(0) => {}
            Ok(_) => work.is_more(),
            Err(error) => return Err(error),
        }
        self.shared.are_orphans_released.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Where others can: one worker of this process looks at their rows, once a second.
    async fn release_silent(&self, work: &mut Work) -> Result<(), Error> {
        let asked_ms = self.shared.now_ms();
        let is_turn = {
            let mut state = self.shared.heart.lock();
            let rest_ms = state.look_ms.saturating_sub(asked_ms);
            // A clock that was set back keeps nobody from looking.
            let is_turn = !(1..=LOOK_MS).contains(&rest_ms);
            if is_turn {
                state.look_ms = asked_ms.saturating_add(LOOK_MS);
            }
            is_turn
        };
        if is_turn {
            let rows = self.workers().await?;
            let now_ms = self.shared.now_ms();
            let gone = self.shared.heart.lock().judge(rows, (asked_ms, now_ms));
            for worker in gone {
                match self.bury(worker).await {
                    Ok(0) | Err(Error::Building { .. }) => {}
                    Ok(_) => work.is_more(),
                    Err(error) => return Err(error),
                }
            }
        }
        if let Some(judged_ms) = self.shared.heart.lock().judged_ms() {
            work.come_back_at(judged_ms);
        }
        Ok(())
    }

    /// Releases the jobs of a process that is gone, and then removes its row unless that was written
    /// meanwhile. How many jobs there were.
    async fn bury(&self, worker: Worker) -> Result<usize, Error> {
        let released = self.release(|holder| holder == Some(worker.id)).await?;
        let as_read = Condition::equal(Path::from(SEEN), Value::from(worker.seen));
        let delete = Delete::new(&self.shared.table, Worker::key(worker.id)).when(as_read);
        match self.shared.store.delete(delete).await {
            Ok(_) | Err(StoreError::ConditionFailed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.shared.heart.lock().others.remove(&worker.id);
        Ok(released)
    }

    /// Makes running jobs due by their holders: they wait, as if their lease had ended. How many.
    async fn release(&self, is_gone: impl Fn(Option<u64>) -> bool) -> Result<usize, Error> {
        let running = self.list(JOB, BY_STATUS).by("status", Status::Running.word());
        let mut page = running.clone().read().await?;
        let mut released = 0;
        loop {
            for job in page.items.iter().filter(|job| is_gone(holder_of(job))) {
                let patch = Item::from([
                    ("status", Value::from(Status::Waiting.word())),
                    ("due", Value::from(self.shared.now_ms())),
                ]);
                match self.perform(&Effects::new(), Some((job, patch)), vec![]).await {
                    Ok(_) => released += 1,
                    // Another worker was first, or the holder has ended it after all.
                    Err(error) if is_passing(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            let Some(next) = page.next else { return Ok(released) };
            page = running.clone().after(next).read().await?;
        }
    }

    /// The rows of all processes that run jobs.
    async fn workers(&self) -> Result<Vec<Worker>, Error> {
        let partition = RowKey::system(NAME, &[]).partition.into_vec();
        let mut query = Query::new(&self.shared.table, KeyCondition::equal(PARTITION, partition));
        let mut workers = vec![];
        loop {
            let page = self.shared.store.query(query.clone()).await?;
            workers.extend(page.items.iter().filter_map(Worker::read));
            match page.last_key {
                None => return Ok(workers),
                start => query.start = start,
            }
        }
    }
}

/// Who took a job.
fn holder_of(job: &Record) -> Option<u64> {
    let holder = job.get("holder").and_then(Value::as_n)?.to_i64()?;
    u64::try_from(holder).ok()
}
