//! The transaction of effects: changes, jobs that join their lanes, a job that changes its state and
//! may leave its lane, and piggybacked rows.

use keyloom_value::{Item, Value};

use super::effects::Effects;
use super::job::{JOB, Job, Status, require_jobs};
use super::lane::{Joined, Lanes, Member};
use super::overflow::{self, StoredPayload};
use crate::change::Change;
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;
use crate::write::PlannedAction;

/// Effects that become one transaction.
pub(crate) struct JobTransaction<'t> {
    db: &'t Db,
    lanes: Lanes<'t>,
    changes: Vec<Change>,
    piggybacked: Vec<PlannedAction>,
    update: Option<JobUpdate<'t>>,
}

/// A new state for a job that is still as it was read.
struct JobUpdate<'j> {
    job: &'j Record,
    patch: Item,
}

impl<'t> JobTransaction<'t> {
    pub(crate) fn new(db: &'t Db) -> JobTransaction<'t> {
        let lanes = Lanes::new(db);
        JobTransaction { db, lanes, changes: vec![], piggybacked: vec![], update: None }
    }

    /// Adds a row.
    pub(crate) fn piggyback(mut self, action: PlannedAction) -> JobTransaction<'t> {
        self.piggybacked.push(action);
        self
    }

    /// Adds the new state of a job. The transaction fails if the job has changed since it was read.
    pub(crate) fn update(mut self, job: &'t Record, patch: Item) -> JobTransaction<'t> {
        self.update = Some(JobUpdate { job, patch });
        self
    }

    /// Commits everything together with effects. Returns the changed entities; the updated job is
    /// the last one, or else the last scheduled one.
    ///
    /// # Errors
    ///
    /// [`Error::Contended`] if somebody else has written a lane or a piggybacked row.
    pub(crate) async fn commit(mut self, effects: &Effects) -> Result<Vec<Option<Record>>, Error> {
        self.changes.extend(effects.changes.iter().cloned());
        if self.update.is_some() || !effects.jobs.is_empty() {
            require_jobs(&self.db.shared)?;
        }
        // The job leaves its lane before others join: a lane that it leaves empty has a new head.
        let updated = match self.update.take() {
            None => None,
            Some(update) => Some(self.job_update(update).await?),
        };
        for job in &effects.jobs {
            let change = self.job_creation(job).await?;
            self.changes.push(change);
        }
        self.changes.extend(updated);
        self.piggybacked.extend(self.lanes.into_actions());
        self.db.transact_with(self.changes, self.piggybacked).await
    }

    /// Returns the change of a job, which may leave its lane or join it again.
    async fn job_update(&mut self, update: JobUpdate<'_>) -> Result<Change, Error> {
        let JobUpdate { job, mut patch } = update;
        self.piggybacked.extend(overflow::on_update(&self.db.shared.table, job, &mut patch));
        let will_end = match patch.get("status").and_then(Value::as_s) {
            Some(word) => word != Status::Waiting.word() && word != Status::Running.word(),
            None => Status::of(job).is_ended(),
        };
        if let Some(lane) = job.get("lane").and_then(Value::as_s) {
            let member = Member { lane, job: job.id() };
            match (Status::of(job).is_ended(), will_end) {
                (false, true) => self.changes.extend(self.lanes.leave(member).await?),
                (true, false) => {
                    let Joined { place, status } = self.lanes.join(member).await?;
                    patch.insert("place", place);
                    patch.insert("status", status.word());
                }
                (true, true) | (false, false) => {}
            }
        }
        Ok(Change::update_item(JOB, job.id(), patch).expecting(job.version()))
    }

    /// Returns the change that creates a job, which joins its lane.
    async fn job_creation(&mut self, job: &Job) -> Result<Change, Error> {
        let shared = &self.db.shared;
        let now_ms = shared.now_ms();
        let id = match &job.id {
            Some(id) => id.clone(),
            None => shared.stamps.next()?,
        };
        let mut item = job.to_item(now_ms);
        if let Some(tenant) = job.tenant.as_ref().or(self.db.tenant.as_ref()) {
            item.insert("tenant", tenant.clone());
        }
        let payload = StoredPayload::of(job.payload.clone());
        self.piggybacked.extend(payload.rows(&shared.table, &id));
        payload.insert_into(&mut item);
        if let Some(lane) = &job.lane
            && !job.is_dead()
        {
            let Joined { place, status } = self.lanes.join(Member { lane, job: &id }).await?;
            item.insert("place", place);
            item.insert("status", status.word());
        }
        item.insert("id", id);
        Ok(Change::create_item(JOB, item))
    }
}

/// Whether a transaction may succeed if it is tried again: a job or a lane has changed.
pub(crate) fn is_transient(error: &Error) -> bool {
    match error {
        Error::Contended => true,
        Error::VersionMismatch { entity, .. } | Error::NotFound { entity, .. } => entity == JOB,
        _ => false,
    }
}
