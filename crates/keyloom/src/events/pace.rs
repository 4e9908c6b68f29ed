//! How often a worker looks for something to do.
//!
//! Looking costs little where the process has the store for itself. On a shared store, such as
//! DynamoDB, each look is several requests, which are charged for; so a worker that finds nothing
//! looks less and less often, and often again once it has found something or this process writes.
//! Events and jobs have a pace of their own: looking for jobs takes more requests, and jobs mostly
//! say when they are due.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Handlers, Next, Work};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;

/// How often to look where the process has the store for itself.
const ALONE_MS: i64 = 15;
/// How soon to look again on a shared store after something was found.
pub(crate) const QUICK_MS: i64 = 250;
/// The longest time between two looks for events: this for each read that a look takes, one for each
/// shard and one for each consumer, within bounds.
const READ_MS: i64 = 2_200;
const EVENTS_MS_MIN: i64 = 4_000;
const EVENTS_MS_MAX: i64 = 15_000;
/// The longest time between two looks for jobs that other processes have scheduled.
const JOBS_MS_MAX: i64 = 20_000;
/// How long to wait after an error.
const AFTER_ERROR_MS: i64 = 5_000;

/// Decides when the workers of a process take their next step. They share one.
///
/// An idle process on a shared store makes less than one request a second. It handles events that
/// another process has caused within fifteen seconds, and runs jobs that another process has scheduled
/// within twenty; a quarter of a second if there was something to do a moment ago. What it causes
/// itself it looks for at once.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, events::Effects, events::Handlers, events::Pace};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.task]\nfields.name = \"text\"\n[on.task]\ninsert = \"greet\"";
/// # pollster::block_on(async {
/// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
/// # let handlers = Handlers::new().event("greet", |_| Ok(Effects::new()));
/// # let now_ms = 0;
/// # db.create("task", &json!({ "name": "cook" })).await?;
/// let pace = Pace::new(&db);
/// // A worker does this in a loop, and sleeps for a few milliseconds if nothing is due.
/// if pace.next_ms() <= now_ms {
///     let work = pace.step(&handlers).await?;
///     assert_eq!(work.events, 1);
/// }
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Debug)]
pub struct Pace {
    db: Db,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    events: Rest,
    jobs: Rest,
    /// The writes of this process that were known when somebody looked last.
    writes: u64,
}

/// When to look next, and how long to wait then if there is nothing.
#[derive(Clone, Copy, Debug)]
struct Rest {
    interval_ms: i64,
    next_ms: i64,
}

/// What a step looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Events,
    All,
}

impl Pace {
    /// Creates the pace of a process. Its first step is due at once.
    pub fn new(db: &Db) -> Pace {
        let rest = Rest { interval_ms: QUICK_MS, next_ms: i64::MIN };
        let state = State { events: rest, jobs: rest, writes: 0 };
        Pace { db: db.clone(), state: Mutex::new(state) }
    }

    /// Returns when the next step is due, in milliseconds since 1970. Ask again every quarter of a
    /// second, because it can become earlier.
    pub fn next_ms(&self) -> i64 {
        let now_ms = self.db.shared.now_ms();
        let writes = self.db.shared.writes.load(Ordering::Relaxed);
        let mut state = self.lock();
        if state.writes != writes {
            state.writes = writes;
            state.events.hurry(now_ms.saturating_add(QUICK_MS));
            state.jobs.hurry(now_ms.saturating_add(QUICK_MS));
        }
        state.events.next_ms.min(state.jobs.next_ms)
    }

    /// Takes a step: [`Db::work`], or only the part of it that is due.
    ///
    /// # Errors
    ///
    /// Those of [`Db::work`].
    pub fn step<'a>(&'a self, handlers: &'a Handlers) -> Answer<'a, Work> {
        Box::pin(async move {
            let look = self.begin();
            let db = Db::new(self.db.shared.clone(), None);
            let work = match look {
                Look::Events => Work::of_events(&db, handlers).await,
                Look::All => Work::step(&db, handlers).await,
            };
            self.end(look, &work);
            work
        })
    }

    /// Decides what to look for, so that others do not look for the same meanwhile.
    fn begin(&self) -> Look {
        let now_ms = self.db.shared.now_ms();
        let is_alone = self.is_alone();
        let mut state = self.lock();
        let are_jobs_due = is_alone || state.jobs.next_ms <= now_ms;
        let interval = |rest: Rest| if is_alone { ALONE_MS } else { rest.interval_ms };
        state.events.next_ms = now_ms.saturating_add(interval(state.events));
        if are_jobs_due {
            state.jobs.next_ms = now_ms.saturating_add(interval(state.jobs));
        }
        if are_jobs_due { Look::All } else { Look::Events }
    }

    /// Decides when to look again.
    fn end(&self, look: Look, work: &Result<Work, Error>) {
        let now_ms = self.db.shared.now_ms();
        let is_alone = self.is_alone();
        let mut state = self.lock();
        let work = match work {
            Ok(work) if work.problems.is_empty() => work,
            Ok(_) | Err(_) => {
                let later_ms = now_ms.saturating_add(AFTER_ERROR_MS);
                state.events.next_ms = later_ms;
                state.jobs.next_ms = later_ms;
                return;
            }
        };
        let at_ms = match work.next {
            Next::Now => {
                state.events.hurry(now_ms);
                state.jobs.hurry(now_ms);
                return;
            }
            Next::At(at_ms) => at_ms,
            Next::Idle => i64::MAX,
        };
        let (events_max_ms, jobs_max_ms) = match is_alone {
            true => (ALONE_MS, ALONE_MS),
            false => (events_ms_max(work.reads as usize), JOBS_MS_MAX),
        };
        state.events.slow_down(now_ms, events_max_ms);
        match look {
            Look::Events => state.events.next_ms = state.events.next_ms.min(at_ms),
            Look::All => {
                state.jobs.slow_down(now_ms, jobs_max_ms);
                state.jobs.next_ms = state.jobs.next_ms.min(at_ms);
            }
        }
    }

    fn is_alone(&self) -> bool {
        self.db.shared.store.opening().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The longest time between two looks for events that take this many requests.
pub(crate) fn events_ms_max(reads: usize) -> i64 {
    let reads = i64::try_from(reads).unwrap_or(i64::MAX);
    READ_MS.saturating_mul(reads).clamp(EVENTS_MS_MIN, EVENTS_MS_MAX)
}

impl Rest {
    /// Something has happened: looks at this time, or earlier, and soon again.
    fn hurry(&mut self, next_ms: i64) {
        self.interval_ms = QUICK_MS;
        self.next_ms = self.next_ms.min(next_ms);
    }

    /// Nothing has happened.
    fn slow_down(&mut self, now_ms: i64, max_ms: i64) {
        self.next_ms = now_ms.saturating_add(self.interval_ms.min(max_ms));
        self.interval_ms = self.interval_ms.saturating_mul(2).clamp(QUICK_MS, max_ms.max(QUICK_MS));
    }
}
