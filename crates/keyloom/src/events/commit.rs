//! Effects become one transaction: changes, jobs that join their lanes, a job that comes to its end
//! and leaves its own, and the rows that go along.

use keyloom_value::{Item, Value};

use super::handlers::Effects;
use super::job::{JOB, Status};
use super::lane::Lanes;
use super::overflow;
use crate::change::Change;
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;
use crate::write::PlannedAction;

impl Db {
    /// Makes effects happen, with a change of a job that is still as it was read, and rows that go
    /// along. Answers what the entities are afterwards; the job is the last one.
    ///
    /// # Errors
    ///
    /// [`Error::Contended`] if a lane or a row that goes along was written by somebody else.
    pub(crate) async fn perform(
        &self,
        effects: &Effects,
        job: Option<(&Record, Item)>,
        mut piggybacked: Vec<PlannedAction>,
    ) -> Result<Vec<Option<Record>>, Error> {
        let mut changes = effects.changes.clone();
        let mut lanes = Lanes::default();
        if job.is_some() || !effects.jobs.is_empty() {
            self.check_jobs()?;
        }
        let turned = match job {
            None => None,
            Some((job, mut patch)) => {
                piggybacked.extend(overflow::turn(&self.shared.table, job, &mut patch));
                Some(self.turn_job((job, patch), &mut changes, &mut lanes).await?)
            }
        };
        for job in &effects.jobs {
            let (change, rows) = self.job_change(job, &mut lanes).await?;
            changes.push(change);
            piggybacked.extend(rows);
        }
        changes.extend(turned);
        piggybacked.extend(lanes.piggybacked(&self.shared.table));
        self.transact_with(changes, piggybacked).await
    }

    /// The change of a job, which may leave its lane or join it again.
    async fn turn_job(
        &self,
        (job, mut patch): (&Record, Item),
        changes: &mut Vec<Change>,
        lanes: &mut Lanes,
    ) -> Result<Change, Error> {
        let lane = job.get("lane").and_then(Value::as_s);
        let will_end = match patch.get("status").and_then(Value::as_s) {
            Some(word) => word != Status::Waiting.word() && word != Status::Running.word(),
            None => Status::of(job).is_ended(),
        };
        match (lane, Status::of(job).is_ended(), will_end) {
            (Some(lane), false, true) => changes.extend(lanes.leave(self, (lane, job.id())).await?),
            (Some(lane), true, false) => {
                let (place, status) = lanes.join(self, (lane, job.id())).await?;
                patch.insert("place", place);
                patch.insert("status", status.word());
            }
            (Some(_) | None, _, _) => {}
        }
        Ok(Change::update_item(JOB, job.id(), patch).expecting(job.version()))
    }
}
