//! Scheduling jobs and changing their state: cancel, reschedule, replay.

use keyloom_value::{Item, Value};

use super::Job;
use super::effects::Effects;
use super::job::{JOB, Status, require_jobs};
use super::transaction::JobTransaction;
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;
use crate::write::Attempts;

/// The jobs of a database.
#[derive(Clone, Copy)]
pub(crate) struct Jobs<'d> {
    db: &'d Db,
}

impl<'d> Jobs<'d> {
    pub(crate) fn new(db: &'d Db) -> Jobs<'d> {
        Jobs { db }
    }

    pub(crate) async fn schedule(self, job: Job) -> Result<Record, Error> {
        let effects = Effects::new().schedule(job);
        let mut attempts = Attempts::new(&self.db.shared.stamps);
        loop {
            attempts.next().await?;
            match JobTransaction::new(self.db).commit(&effects).await {
                Err(Error::Contended) => {}
                Err(error) => return Err(error),
                Ok(mut records) => return records.pop().flatten().ok_or(Error::Contended),
            }
        }
    }

    pub(crate) async fn cancel(self, id: &str) -> Result<Record, Error> {
        self.change(id, "canceled", |job, now_ms| {
            let is_ended = Status::of(job).is_ended();
            (!is_ended).then(|| Status::Canceled.end(now_ms))
        })
        .await
    }

    pub(crate) async fn reschedule(self, id: &str, due_ms: i64) -> Result<Record, Error> {
        self.change(id, "rescheduled", |job, _| {
            let is_waiting = Status::of(job) == Status::Waiting;
            is_waiting.then(|| Item::from([("due", Value::from(due_ms))]))
        })
        .await
    }

    pub(crate) async fn replay(self, id: &str) -> Result<Record, Error> {
        self.change(id, "replayed", |job, now_ms| match Status::of(job) {
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
    }

    /// Patches a job, depending on its state, and tries again if the job has changed meanwhile.
    async fn change(
        self,
        id: &str,
        wanted: &'static str,
        patch: impl Fn(&Record, i64) -> Option<Item>,
    ) -> Result<Record, Error> {
        require_jobs(&self.db.shared)?;
        let mut attempts = Attempts::new(&self.db.shared.stamps);
        loop {
            attempts.next().await?;
            let found = self.db.get(JOB, id).await?;
            let not_found = || Error::NotFound { entity: JOB.to_owned(), id: id.to_owned() };
            let job = found.ok_or_else(not_found)?;
            let status = Status::of(&job).word().to_owned();
            let Some(patch) = patch(&job, self.db.shared.now_ms()) else {
                return Err(Error::JobState { id: id.to_owned(), status, wanted });
            };
            let transaction = JobTransaction::new(self.db).update(&job, patch);
            match transaction.commit(&Effects::new()).await {
                Ok(mut records) => return records.pop().flatten().ok_or(Error::Contended),
                Err(Error::Contended | Error::VersionMismatch { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
