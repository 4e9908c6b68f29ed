//! How much is left to do: for people who watch.

use keyloom_model::Model;
use keyloom_store::Error as StoreError;

use super::Event;
use super::consumer::{Checkpoint, Consumer};
use super::job::{BY_STATUS, JOB, Status};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;

/// How far is looked ahead, and how many jobs are counted.
const LOOKED_MAX: u32 = 1_000;

/// What is left to do.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Backlog {
    /// How far each consumer is behind.
    pub consumers: Vec<Lag>,
    /// Jobs that are due and not begun; 1,000 stands for that or more.
    pub due: u32,
    /// Jobs that are not due yet; 1,000 stands for that or more.
    pub waiting: u32,
    /// Jobs that are run now; 1,000 stands for that or more.
    pub running: u32,
    /// Jobs that wait behind others of their lane; 1,000 stands for that or more.
    pub queued: u32,
    /// Dead letters; 1,000 stands for that or more.
    pub failed: u32,
    /// For how many milliseconds the oldest job has been due.
    pub late_ms: i64,
}

/// How far a consumer is behind.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Lag {
    /// Its name.
    pub consumer: String,
    /// Events that it has not handled, of the next 1,000 changes of rows.
    pub events: u32,
    /// Whether there are changes after those.
    pub is_more: bool,
    /// How old the oldest of these events is, in milliseconds.
    pub age_ms: i64,
    /// Whether changes are lost to it: see [`Db::resume`].
    pub is_lost: bool,
}

impl Db {
    /// How much is left to do. Bounded, and not for every request.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn backlog(&self) -> Answer<'_, Backlog> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let model: &Model = schema.model();
            let mut backlog = Backlog::default();
            for consumer in Consumer::all(model) {
                let mut lag = Lag { consumer: consumer.name.clone(), ..Lag::default() };
                match self.checkpoints_of(&consumer.name).await {
                    Err(Error::Behind { .. }) => lag.is_lost = true,
                    checkpoints => {
                        for checkpoint in checkpoints? {
                            self.add_lag((&consumer, &checkpoint), &mut lag).await?;
                        }
                    }
                }
                backlog.consumers.push(lag);
            }
            if model.jobs().is_some() {
                backlog.running = self.count_jobs(Status::Running).await?.0;
                backlog.queued = self.count_jobs(Status::Queued).await?.0;
                backlog.failed = self.count_jobs(Status::Failed).await?.0;
                (backlog.waiting, backlog.due, backlog.late_ms) =
                    self.count_jobs(Status::Waiting).await?;
                backlog.waiting -= backlog.due;
            }
            Ok(backlog)
        })
    }

    async fn add_lag(
        &self,
        (consumer, checkpoint): (&Consumer, &Checkpoint),
        lag: &mut Lag,
    ) -> Result<(), Error> {
        let schema = self.shared.schema();
        let shard = &checkpoint.shard;
        let page = match self.changes(shard, checkpoint.start(), LOOKED_MAX as usize).await {
            Err(Error::Store(StoreError::ChangesGone { .. })) => {
                lag.is_lost = true;
                return Ok(());
            }
            page => page?,
        };
        lag.is_more |= page.changes.len() >= LOOKED_MAX as usize;
        for change in &page.changes {
            let Ok(Some(event)) = Event::of(&schema, shard, change) else { continue };
            let entity = event.entity_id(&schema);
            if entity.is_some_and(|id| consumer.is_bound(id, event.change)) {
                lag.events += 1;
                lag.age_ms = lag.age_ms.max(self.shared.now_ms().saturating_sub(event.time_ms));
            }
        }
        Ok(())
    }

    /// How many jobs have a status, how many of them are due, and for how long the first one is.
    async fn count_jobs(&self, status: Status) -> Result<(u32, u32, i64), Error> {
        let list = self.list(JOB, BY_STATUS).by("status", status.word()).limit(LOOKED_MAX);
        let jobs = list.read().await?.items;
        let now_ms = self.shared.now_ms();
        let due_ms = |job: &crate::Record| {
            job.get("due").and_then(|due| due.as_n()?.to_i64()).unwrap_or(now_ms)
        };
        let due = jobs.partition_point(|job| due_ms(job) <= now_ms);
        let late_ms = jobs.first().map_or(0, |first| now_ms.saturating_sub(due_ms(first)).max(0));
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Ok((count(jobs.len()), count(due), late_ms))
    }
}
