//! Jobs: something to be done at some time, by one worker at a time, until it is done. A job is an
//! entity of the model; this is how it is made, put off, called off and tried again.

use std::time::Duration;

use keyloom_value::{Item, Value};
use serde::Serialize;

use super::handlers::Effects;
use super::lane::Lanes;
use super::overflow::{self, OVERFLOW};
use crate::answer::Answer;
use crate::change::Change;
use crate::db::Db;
use crate::document::to_item;
use crate::error::Error;
use crate::record::Record;
use crate::write::PlannedAction;

/// The entity.
pub(crate) const JOB: &str = "job";
/// Its list by status, in order of due times.
pub(crate) const BY_STATUS: &str = "by_status";
/// Its list of those that are queued, by lane.
pub(crate) const BY_LANE: &str = "by_lane";

/// How long a job is kept that is done or canceled.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// After how long somebody looks whether a job that is due and queued still has one before it.
pub(crate) const QUEUED_MS: i64 = 10 * 60 * 1000;
/// How often a change of a job is tried when its lane changes.
const ATTEMPTS_MAX: usize = 16;

/// A job to be scheduled, by [`Db::schedule`] or as an effect.
#[derive(Clone, Debug)]
pub struct Job {
    pub(crate) kind: String,
    pub(crate) id: Option<String>,
    pub(crate) lane: Option<String>,
    pub(crate) due: Due,
    pub(crate) payload: Option<Value>,
    /// What has become of it before it was a job: an event that failed.
    pub(crate) failed: Option<Failed>,
}

/// When a job is due.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    After(Duration),
    At(i64),
}

/// A first attempt that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) error: String,
    /// Whether nobody shall try again.
    pub(crate) is_dead: bool,
}

/// What has become of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Behind another one in its lane.
    Queued,
    /// To be run when it is due.
    Waiting,
    /// Somebody runs it, until its lease ends.
    Running,
    Done,
    /// A dead letter: it is not tried any more.
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

    /// Whether it is not run any more, unless somebody asks for it.
    pub(crate) fn is_ended(self) -> bool {
        match self {
            Status::Queued | Status::Waiting | Status::Running => false,
            Status::Done | Status::Failed | Status::Canceled => true,
        }
    }

    /// Of a job that was read. The model lets no other words through.
    pub(crate) fn of(job: &Record) -> Status {
        let word = job.get("status").and_then(Value::as_s).unwrap_or_default();
        let all = [Status::Queued, Status::Waiting, Status::Running, Status::Done, Status::Failed];
        all.into_iter().find(|status| status.word() == word).unwrap_or(Status::Canceled)
    }
}

impl Job {
    /// A job of a kind, to be run as soon as somebody can.
    pub fn new(kind: &str) -> Job {
        let due = Due::After(Duration::ZERO);
        Job { kind: kind.to_owned(), id: None, lane: None, due, payload: None, failed: None }
    }

    /// With this id. No two jobs have one id: so a job that is asked for twice is there once.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Job {
        self.id = Some(id.into());
        self
    }

    /// After all jobs that are in this lane already have come to their end, and before all that
    /// come later.
    #[must_use]
    pub fn lane(mut self, lane: impl Into<String>) -> Job {
        self.lane = Some(lane.into());
        self
    }

    /// Not before so much time has passed since it was scheduled.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Job {
        self.due = Due::After(delay);
        self
    }

    /// Not before this time, in milliseconds since 1970.
    #[must_use]
    pub fn at_ms(mut self, time_ms: i64) -> Job {
        self.due = Due::At(time_ms);
        self
    }

    /// What it is about: anything that JSON can say.
    ///
    /// # Errors
    ///
    /// If it cannot be serialized.
    pub fn payload<T: Serialize + ?Sized>(mut self, payload: &T) -> Result<Job, Error> {
        let wrapped = to_item(&std::collections::BTreeMap::from([("payload", payload)]));
        self.payload = wrapped.map_err(Error::Document)?.remove("payload");
        Ok(self)
    }

    /// As [`Job::payload`], of a value.
    #[must_use]
    pub fn payload_value(mut self, payload: impl Into<Value>) -> Job {
        self.payload = Some(payload.into());
        self
    }
}

impl Job {
    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload.as_ref().map_or(0, Value::size)
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

impl Db {
    /// Schedules a job. It is run with the database of this tenant, if this is one's.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] if there is a job with its id; [`Error::NoJobs`] if the model has none.
    pub fn schedule(&self, job: Job) -> Answer<'_, Record> {
        Box::pin(async move {
            for _ in 0..ATTEMPTS_MAX {
                let effects = Effects::new().schedule(job.clone());
                match self.perform(&effects, None, vec![]).await {
                    Err(Error::Contended) => {}
                    Err(error) => return Err(error),
                    Ok(mut records) => return records.pop().flatten().ok_or(Error::Contended),
                }
            }
            Err(Error::Contended)
        })
    }

    /// Calls a job off that is not at its end. One that runs may have had effects outside already,
    /// and will have none in the store.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::JobState`] if it is at its end.
    pub fn cancel<'a>(&'a self, job: &'a str) -> Answer<'a, Record> {
        Box::pin(async move {
            self.change_job(job, "canceled", |job, now_ms| {
                let is_ended = Status::of(job).is_ended();
                (!is_ended).then(|| ended(Status::Canceled, now_ms))
            })
            .await
        })
    }

    /// Gives a job that waits another time, in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::JobState`] if it does not wait.
    pub fn reschedule<'a>(&'a self, job: &'a str, due_ms: i64) -> Answer<'a, Record> {
        Box::pin(async move {
            self.change_job(job, "rescheduled", |job, _| {
                let is_waiting = Status::of(job) == Status::Waiting;
                is_waiting.then(|| Item::from([("due", Value::from(due_ms))]))
            })
            .await
        })
    }

    /// Runs a job again that has failed or was canceled, with all of its attempts. In a lane, it
    /// comes after those that are there.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::JobState`] if it has not failed.
    pub fn replay<'a>(&'a self, job: &'a str) -> Answer<'a, Record> {
        Box::pin(async move {
            self.change_job(job, "replayed", |job, now_ms| match Status::of(job) {
                Status::Failed | Status::Canceled => Some(Item::from([
                    ("status", Value::from(Status::Waiting.word())),
                    ("due", Value::from(now_ms)),
                    ("attempts", Value::from(0)),
                    ("ended", Value::Null),
                    ("expires", Value::Null),
                ])),
                Status::Queued | Status::Waiting | Status::Running | Status::Done => None,
            })
            .await
        })
    }

    /// Changes a job by what it is; again if it was changed meanwhile.
    async fn change_job(
        &self,
        id: &str,
        wanted: &'static str,
        patch: impl Fn(&Record, i64) -> Option<Item>,
    ) -> Result<Record, Error> {
        self.check_jobs()?;
        for _ in 0..ATTEMPTS_MAX {
            let found = self.get(JOB, id).await?;
            let not_found = || Error::NotFound { entity: JOB.to_owned(), id: id.to_owned() };
            let job = found.ok_or_else(not_found)?;
            let status = Status::of(&job).word().to_owned();
            let Some(patch) = patch(&job, self.shared.now_ms()) else {
                return Err(Error::JobState { id: id.to_owned(), status, wanted });
            };
            match self.perform(&Effects::new(), Some((&job, patch)), vec![]).await {
                Ok(mut records) => return records.pop().flatten().ok_or(Error::Contended),
                Err(Error::Contended | Error::VersionMismatch { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended)
    }

    pub(crate) fn check_jobs(&self) -> Result<(), Error> {
        self.shared.schema().model().jobs().map(drop).ok_or(Error::NoJobs)
    }

    /// The change that makes a job, which joins its lane, and the rows that it needs beside it.
    pub(crate) async fn job_change(
        &self,
        job: &Job,
        lanes: &mut Lanes,
    ) -> Result<(Change, Vec<PlannedAction>), Error> {
        let now_ms = self.shared.now_ms();
        let id = match &job.id {
            Some(id) => id.clone(),
            None => self.shared.stamps.next()?,
        };
        let mut item = Item::from([
            ("kind", Value::from(job.kind.as_str())),
            ("due", Value::from(job.due.ms(now_ms))),
            ("created", Value::from(now_ms)),
        ]);
        let (payload, text) = overflow::split(job.payload.clone());
        let count = text.as_deref().map(|text| Value::from(overflow::count(text)));
        for (name, value) in
            [("tenant", self.tenant.clone()), ("payload", payload), (OVERFLOW, count)]
        {
            if let Some(value) = value {
                item.insert(name, value);
            }
        }
        let mut status = Status::Waiting;
        if let Some(Failed { error, is_dead }) = &job.failed {
            item.insert("attempts", 1);
            item.insert("error", error.as_str());
            if *is_dead {
                status = Status::Failed;
                item.insert("ended", now_ms);
            }
        }
        if let Some(lane) = &job.lane {
            item.insert("lane", lane.as_str());
            if !status.is_ended() {
                let place;
                (place, status) = lanes.join(self, (lane, &id)).await?;
                item.insert("place", place);
            }
        }
        item.insert("status", status.word());
        let rows = text.map(|text| overflow::rows(&self.shared.table, &id, &text));
        item.insert("id", id);
        Ok((Change::create_item(JOB, item), rows.unwrap_or_default()))
    }
}

/// What a job has that comes to its end. A dead letter stays until somebody has looked at it.
pub(crate) fn ended(status: Status, now_ms: i64) -> Item {
    let mut item =
        Item::from([("status", Value::from(status.word())), ("ended", Value::from(now_ms))]);
    if status != Status::Failed {
        item.insert("expires", now_ms.saturating_add(KEPT_MS));
    }
    item
}
