//! The backlog, for monitoring: how far consumers are behind, and how many jobs are pending.

use keyloom_store::Error as StoreError;

use super::Event;
use super::checkpoint::{Checkpoint, Checkpoints};
use super::consumer::Consumer;
use super::event::FeedChange;
use super::feed::Feed;
use super::job::{BY_STATUS, JOB, Status};
use super::lags::ShardLag;
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;

/// How many row changes and how many jobs are counted.
const COUNTED_MAX: u32 = 1_000;

/// How much is left to do.
///
/// [`Db::backlog`] has an example.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Backlog {
    /// How far each consumer is behind.
    pub consumers: Vec<Lag>,
    /// Jobs that are due and not running; 1,000 stands for that or more.
    pub due: u32,
    /// Jobs that are not due yet; 1,000 stands for that or more.
    pub waiting: u32,
    /// Jobs that are running; 1,000 stands for that or more.
    pub running: u32,
    /// Jobs that wait behind others in their lane; 1,000 stands for that or more.
    pub queued: u32,
    /// Dead letters; 1,000 stands for that or more.
    pub failed: u32,
    /// For how many milliseconds the oldest job has been due.
    pub late_ms: i64,
}

/// How far a consumer is behind.
///
/// [`Db::backlog`] has an example.
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
    /// Whether the log was trimmed past it, so that it has stopped: see [`Db::resume`].
    pub is_lost: bool,
}

/// Measures the backlog.
#[derive(Clone, Copy)]
pub(crate) struct BacklogReader<'d> {
    db: &'d Db,
}

/// Jobs of one status.
struct JobCount {
    all: u32,
    due: u32,
    /// For how long the first of them has been due.
    late_ms: i64,
}

impl<'d> BacklogReader<'d> {
    pub(crate) fn new(db: &'d Db) -> BacklogReader<'d> {
        BacklogReader { db }
    }

    pub(crate) async fn read(self) -> Result<Backlog, Error> {
        let schema = self.db.shared.schema();
        let mut backlog = Backlog::default();
        for consumer in Consumer::all(schema.model()) {
            backlog.consumers.push(self.lag(&consumer).await?);
        }
        if schema.model().jobs().is_some() {
            backlog.running = self.jobs(Status::Running).await?.all;
            backlog.queued = self.jobs(Status::Queued).await?.all;
            backlog.failed = self.jobs(Status::Failed).await?.all;
            let waiting = self.jobs(Status::Waiting).await?;
            backlog.due = waiting.due;
            backlog.waiting = waiting.all - waiting.due;
            backlog.late_ms = waiting.late_ms;
        }
        Ok(backlog)
    }

    async fn lag(self, consumer: &Consumer) -> Result<Lag, Error> {
        let mut lag = Lag { consumer: consumer.name.clone(), ..Lag::default() };
        match Checkpoints::new(&self.db.shared).of(&consumer.name).await {
            Err(Error::Behind { .. }) => lag.is_lost = true,
            checkpoints => {
                let open = checkpoints?.into_iter().filter(|(_, checkpoint)| !checkpoint.is_ended);
                for (_, checkpoint) in open {
                    self.add_shard(consumer, &checkpoint, &mut lag).await?;
                }
            }
        }
        Ok(lag)
    }

    async fn add_shard(
        self,
        consumer: &Consumer,
        checkpoint: &Checkpoint,
        lag: &mut Lag,
    ) -> Result<(), Error> {
        let shared = &self.db.shared;
        let (schema, shard) = (shared.schema(), &checkpoint.shard);
        let (feed, start) = (Feed::new(shared), checkpoint.start());
        let page = match feed.changes(shard, start, COUNTED_MAX as usize).await {
            Err(Error::Store(StoreError::ChangesGone { .. })) => {
                lag.is_lost = true;
                return Ok(());
            }
            page => page?,
        };
        let is_more = page.changes.len() >= COUNTED_MAX as usize;
        let mut found = ShardLag { is_more, ..ShardLag::default() };
        for change in &page.changes {
            let event = Event::of(&schema, FeedChange { shard, change });
            let Ok(Some(event)) = event else { continue };
            let entity = event.entity_id(&schema);
            if entity.is_some_and(|id| consumer.is_bound(id, event.change)) {
                found.events += 1;
                let oldest_ms = found.oldest_ms.unwrap_or(event.time_ms);
                found.oldest_ms = Some(oldest_ms.min(event.time_ms));
            }
        }
        let known = shared.lags.complete(checkpoint, found);
        lag.events += known.events;
        lag.is_more |= known.is_more;
        let age_ms = known.oldest_ms.map_or(0, |ms| shared.now_ms().saturating_sub(ms));
        lag.age_ms = lag.age_ms.max(age_ms);
        Ok(())
    }

    /// Counts the jobs of a status.
    async fn jobs(self, status: Status) -> Result<JobCount, Error> {
        let list = self.db.list(JOB, BY_STATUS).by("status", status.word()).limit(COUNTED_MAX);
        let jobs = list.read().await?.items;
        let now_ms = self.db.shared.now_ms();
        let due_ms =
            |job: &Record| job.get("due").and_then(|due| due.as_n()?.to_i64()).unwrap_or(now_ms);
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(JobCount {
            all: count(jobs.len()),
            due: count(jobs.partition_point(|job| due_ms(job) <= now_ms)),
            late_ms: jobs.first().map_or(0, |first| now_ms.saturating_sub(due_ms(first)).max(0)),
        })
    }
}
