//! The runner, as a function: one bounded step, and when to come back.

use super::Handlers;
use super::consumer::Consumer;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;

/// What one step has done.
#[derive(Debug)]
#[non_exhaustive]
pub struct Work {
    /// Events that were handled, or put aside because they could not be.
    pub events: u32,
    /// Jobs that were run, whatever came of them.
    pub jobs: u32,
    /// Large deletions that nobody was at and that were brought to their end.
    pub deletions: u32,
    /// Events and jobs of these that failed.
    pub failures: u32,
    /// What keeps a consumer from going on; the others have gone on.
    pub problems: Vec<Error>,
    /// When there is something to do.
    pub next: Next,
}

/// When to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once: there may be more.
    Now,
    /// At this time, in milliseconds since 1970; or earlier, to see whether something happened.
    At(i64),
    /// Whenever something may have happened.
    Idle,
}

impl Db {
    /// One step of what is to be done: each consumer handles some events, some jobs that are due are
    /// run, and large deletions that no call carries on are finished. The first two are bounded; a
    /// large deletion is finished as a whole, so call [`Db::resume_deletions`] elsewhere if events
    /// must not wait for that. Any number of threads and processes can do this at once.
    ///
    /// A future that is dropped leaves what was done; a job that was under way is taken over when
    /// its lease ends. On a store that processes share, call [`Db::heartbeat`] beside this.
    ///
    /// # Errors
    ///
    /// If the model calls something that nobody handles, or the store fails.
    pub fn work<'a>(&'a self, handlers: &'a Handlers) -> Answer<'a, Work> {
        Box::pin(async move {
            handlers.check(self)?;
            let db = self.of_tenant(None);
            let mut work = Work {
                events: 0,
                jobs: 0,
                deletions: 0,
                failures: 0,
                problems: vec![],
                next: Next::Idle,
            };
            match db.resume_deletions().await {
                // Other processes are at it: events and jobs need not wait for that.
                Err(error @ Error::Contended) => work.problems.push(error),
                count => work.deletions = count?,
            }
            let schema = db.shared.schema();
            let consumers = Consumer::all(schema.model());
            for consumer in consumers.iter().filter(|consumer| handlers.has(&consumer.target)) {
                let Some(_claim) = handlers.claim(&consumer.name) else { continue };
                db.consume_all(consumer, handlers, &mut work).await?;
            }
            if schema.model().jobs().is_some() {
                db.run_jobs(handlers, &mut work).await?;
            }
            // What was done may be what others wait for.
            if work.events + work.jobs > 0 {
                work.is_more();
            }
            Ok(work)
        })
    }
}

impl Db {
    /// A consumer handles some events of each part of the feed. What a part was split into is
    /// listed after it and not begun before it was read: so the order of an entity is kept.
    async fn consume_all(
        &self,
        consumer: &Consumer,
        handlers: &Handlers,
        work: &mut Work,
    ) -> Result<(), Error> {
        let checkpoints = match self.checkpoints_of(&consumer.name).await {
            Err(error @ Error::Behind { .. }) => {
                work.problems.push(error);
                return Ok(());
            }
            checkpoints => checkpoints?,
        };
        let mut are_read = true;
        for checkpoint in checkpoints {
            if checkpoint.after.is_none() && !are_read {
                work.is_more();
                continue;
            }
            match self.consume(consumer, checkpoint, handlers, work).await {
                Ok(is_read) => are_read &= is_read,
                Err(error @ (Error::Behind { .. } | Error::Damaged { .. })) => {
                    are_read = false;
                    work.problems.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Work {
    pub(crate) fn is_more(&mut self) {
        self.next = Next::Now;
    }

    /// Something is due then.
    pub(crate) fn come_back_at(&mut self, time_ms: i64) {
        self.next = match self.next {
            Next::Now => Next::Now,
            Next::At(earlier) => Next::At(earlier.min(time_ms)),
            Next::Idle => Next::At(time_ms),
        };
    }
}
