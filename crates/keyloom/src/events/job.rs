//! Jobs: work to do at some time, by one worker at a time, until it is done. A job is an entity of
//! the model; this is what is scheduled, and the states that it goes through.

use std::time::Duration;

use keyloom_value::{Item, Value};
use serde::Serialize;

use crate::document::to_item;
use crate::error::Error;
use crate::record::Record;
use crate::shared::Shared;

/// The entity.
pub(crate) const JOB: &str = "job";
/// Its list by status, in order of due times.
pub(crate) const BY_STATUS: &str = "by_status";
/// Its list of queued jobs, by lane.
pub(crate) const BY_LANE: &str = "by_lane";

/// How long a job is kept that is done or canceled.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// A job to schedule, with [`Db::schedule`](crate::Db::schedule) or as an effect.
///
/// ```
/// # use std::time::Duration;
/// # use std::sync::Arc;
/// # use keyloom::{Db, events::Job};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     jobs = true
///     [entity.order]
///     fields.buyer = "text"
/// "#;
/// let db = Db::open(model, store).await?;
/// let remind = Job::new("remind").id("order-7").after(Duration::from_secs(600)).payload(&7)?;
/// db.schedule(remind).await?;
/// let waiting = db.list("job", "by_status").by("status", "waiting").read().await?;
/// assert_eq!(waiting.items[0].id(), "order-7");
/// db.cancel("order-7").await?;
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
pub struct Job {
    pub(crate) kind: String,
    pub(crate) id: Option<String>,
    pub(crate) lane: Option<String>,
    /// The tenant whose database it runs with, if it is not that of the database that schedules it.
    pub(crate) tenant: Option<Value>,
    pub(crate) due: Due,
    pub(crate) payload: Option<Value>,
    /// The attempt before it became a job, if it is an event that failed.
    pub(crate) failed: Option<FirstFailure>,
}

/// When a job is due.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    After(Duration),
    At(i64),
}

/// A first attempt that failed.
#[derive(Clone, Debug)]
pub(crate) struct FirstFailure {
    pub(crate) error: String,
    /// Whether the job is a dead letter from the start.
    pub(crate) is_dead: bool,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Waits behind another job in its lane.
    Queued,
    /// Runs when it is due.
    Waiting,
    /// A worker holds its lease.
    Running,
    Done,
    /// A dead letter: it is not retried.
    Failed,
    Canceled,
}

impl Status {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Waiting => "waiting",
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Canceled => "canceled",
        }
    }

    /// Whether it runs again only if it is replayed.
    pub(crate) fn is_ended(self) -> bool {
        match self {
            Status::Queued | Status::Waiting | Status::Running => false,
            Status::Done | Status::Failed | Status::Canceled => true,
        }
    }

    /// Returns the status of a job. The model admits no other words.
    pub(crate) fn of(job: &Record) -> Status {
        let word = job.get("status").and_then(Value::as_s).unwrap_or_default();
        let all = [Status::Queued, Status::Waiting, Status::Running, Status::Done, Status::Failed];
        all.into_iter().find(|status| status.word() == word).unwrap_or(Status::Canceled)
    }

    /// Returns the fields that change when a job ends with this status. A dead letter does not
    /// expire.
    pub(crate) fn end(self, now_ms: i64) -> Item {
        let mut item =
            Item::from([("status", Value::from(self.word())), ("ended", Value::from(now_ms))]);
        if self != Status::Failed {
            item.insert("expires", now_ms.saturating_add(KEPT_MS));
        }
        item
    }
}

impl Job {
    /// Creates a job of a kind, due at once.
    pub fn new(kind: &str) -> Job {
        let due = Due::After(Duration::ZERO);
        Job {
            kind: kind.to_owned(),
            id: None,
            lane: None,
            tenant: None,
            due,
            payload: None,
            failed: None,
        }
    }

    /// Sets the id. Ids are unique, so a job that is requested twice exists once.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Job {
        self.id = Some(id.into());
        self
    }

    /// Sets the lane: the job runs after all jobs that are in this lane already have ended, and
    /// before all that join it later.
    #[must_use]
    pub fn lane(mut self, lane: impl Into<String>) -> Job {
        self.lane = Some(lane.into());
        self
    }

    /// Delays the job by so much after it is scheduled.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Job {
        self.due = Due::After(delay);
        self
    }

    /// Delays the job until this time, in milliseconds since 1970.
    #[must_use]
    pub fn at_ms(mut self, time_ms: i64) -> Job {
        self.due = Due::At(time_ms);
        self
    }

    /// Sets the payload: anything that JSON can represent.
    ///
    /// # Errors
    ///
    /// If it cannot be serialized.
    pub fn payload<T: Serialize + ?Sized>(mut self, payload: &T) -> Result<Job, Error> {
        let wrapped = to_item(&std::collections::BTreeMap::from([("payload", payload)]));
        self.payload = wrapped.map_err(Error::Document)?.remove("payload");
        Ok(self)
    }

    /// Sets the payload, as [`Job::payload`] does, from a value.
    #[must_use]
    pub fn payload_value(mut self, payload: impl Into<Value>) -> Job {
        self.payload = Some(payload.into());
        self
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload.as_ref().map_or(0, Value::size)
    }

    /// Whether it is a dead letter from the start.
    pub(crate) fn is_dead(&self) -> bool {
        self.failed.as_ref().is_some_and(|failed| failed.is_dead)
    }

    /// Returns the fields of the new entity, all but its id, tenant, payload and place in a lane.
    pub(crate) fn to_item(&self, now_ms: i64) -> Item {
        let status = if self.is_dead() { Status::Failed } else { Status::Waiting };
        let mut item = Item::from([
            ("kind", Value::from(self.kind.as_str())),
            ("status", Value::from(status.word())),
            ("due", Value::from(self.due.ms(now_ms))),
            ("created", Value::from(now_ms)),
        ]);
        if let Some(lane) = &self.lane {
            item.insert("lane", lane.as_str());
        }
        if let Some(failed) = &self.failed {
            item.insert("attempts", 1);
            item.insert("error", failed.error.as_str());
        }
        if self.is_dead() {
            item.insert("ended", now_ms);
        }
        item
    }
}

impl Due {
    fn ms(self, now_ms: i64) -> i64 {
        match self {
            Due::At(time_ms) => time_ms,
            Due::After(delay) => {
                now_ms.saturating_add(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX))
            }
        }
    }
}

/// Checks that the model has jobs.
pub(crate) fn require_jobs(shared: &Shared) -> Result<(), Error> {
    shared.schema().model().jobs().map(drop).ok_or(Error::NoJobs)
}
