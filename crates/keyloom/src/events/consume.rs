//! A run of one consumer: in each shard of the feed, it reads a page and handles its events.

use keyloom_model::Target;
use keyloom_store::{ChangePage, Error as StoreError, Shard};

use super::checkpoint::{Checkpoint, Checkpoints};
use super::consumer::Consumer;
use super::deliver::Delivering;
use super::feed::Feed;
use super::handle::{Flow, Handling};
use super::poster::Poster;
use super::progress::{CHANGES_MAX, Progress};
use super::reader_lease::ReaderLease;
use super::select::Selected;
use super::shard_order::ShardOrder;
use super::step_pages::StepPages;
use super::waiting::WaitingLanes;
use super::{Handlers, Work};
use crate::db::Db;
use crate::error::Error;

/// One consumer at work.
pub(crate) struct ConsumerRun<'r> {
    pub(crate) db: &'r Db,
    pub(crate) consumer: &'r Consumer,
    pub(crate) handlers: &'r Handlers,
    pub(crate) pages: &'r mut StepPages,
    pub(crate) work: &'r mut Work,
}

/// How soon to read again a shard whose children wait for its end.
const WAITED_FOR_MS: i64 = 250;

/// How far a run has come in a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    /// Behind the last change that it will ever have.
    End,
    /// Anywhere before that, also behind the last change so far.
    Middle,
}

impl ConsumerRun<'_> {
    /// Handles some events of each shard. To preserve the order of each entity's events, a shard is
    /// begun only when its parent has been read to its end.
    pub(crate) async fn run(mut self) -> Result<(), Error> {
        self.work.reads += 1;
        let checkpoints = match Checkpoints::new(&self.db.shared).of(&self.consumer.name).await {
            Err(error @ Error::Behind { .. }) => {
                self.work.problems.push(error);
                return Ok(());
            }
            checkpoints => checkpoints?,
        };
        let shards: Vec<Shard> = checkpoints.iter().map(|(shard, _)| shard.clone()).collect();
        let mut order = ShardOrder::new(&shards);
        for (shard, checkpoint) in checkpoints {
            if checkpoint.is_ended {
                order.end(&shard.id);
                continue;
            }
            if checkpoint.after.is_none() && !order.may_begin(&shard.id) {
                let soon_ms = self.db.shared.now_ms().saturating_add(WAITED_FOR_MS);
                self.work.call_at(soon_ms);
                continue;
            }
            let lease = ReaderLease::new(&self.db.shared);
            let Some(checkpoint) = lease.take(checkpoint, self.work).await? else { continue };
            match self.shard(checkpoint).await {
                Ok(Reached::End) => order.end(&shard.id),
                Ok(Reached::Middle) => {}
                Err(error @ (Error::Behind { .. } | Error::Damaged { .. })) => {
                    self.work.problems.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Handles a page of events, from a checkpoint on.
    async fn shard(&mut self, checkpoint: Checkpoint) -> Result<Reached, Error> {
        let page = self.page(&checkpoint).await?;
        let schema = self.db.shared.schema();
        let events = self.consumer.select(&schema, &checkpoint.shard, &page.changes)?;
        let waiting = WaitingLanes::load(&self.db.shared, self.consumer, &events).await?;
        let mut progress = Progress::new(self.db, checkpoint);
        match self.handle(&events, waiting, &mut progress).await? {
            Flow::Continue => {}
            Flow::Leave => return Ok(Reached::Middle),
            Flow::Again => {
                self.work.call_again();
                return Ok(Reached::Middle);
            }
        }
        let is_end = progress.end_page(&page, &self.handlers.scanned, self.work).await?;
        Ok(if is_end { Reached::End } else { Reached::Middle })
    }

    /// Delivers events to a webhook, or calls the handler.
    async fn handle(
        &mut self,
        events: &[Selected],
        waiting: WaitingLanes<'_>,
        progress: &mut Progress,
    ) -> Result<Flow, Error> {
        let ConsumerRun { db, consumer, handlers, .. } = *self;
        let work = &mut *self.work;
        let poster = match &consumer.target {
            Target::Webhook(address) => Poster::new(&db.shared, handlers, address),
            Target::Handler(_) | Target::Job(_) => None,
        };
        match poster {
            Some(poster) => {
                Delivering { db, consumer, work, progress, waiting, poster }.all(events).await
            }
            None => Handling { db, consumer, handlers, work, progress, waiting }.all(events).await,
        }
    }

    async fn page(&mut self, checkpoint: &Checkpoint) -> Result<ChangePage, Error> {
        let feed = Feed::new(&self.db.shared);
        let start = self.handlers.scanned.start(checkpoint);
        if let Some(page) = self.pages.find(&checkpoint.shard, start) {
            return Ok(page);
        }
        self.work.reads += 1;
        match feed.changes(&checkpoint.shard, start, CHANGES_MAX).await {
            Err(Error::Store(StoreError::ChangesGone { .. })) => {
                let oldest_ms = feed.oldest_ms(&checkpoint.shard).await?;
                let (consumer, seen_ms) = (checkpoint.consumer.clone(), checkpoint.time_ms);
                Err(Error::Behind { consumer, seen_ms, oldest_ms })
            }
            Ok(page) => {
                self.pages.add(&checkpoint.shard, start, &page);
                Ok(page)
            }
            Err(error) => Err(error),
        }
    }
}
