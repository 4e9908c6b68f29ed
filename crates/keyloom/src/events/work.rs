//! One bounded step of a worker, and when to take the next one.

use super::Handlers;
use super::consume::ConsumerRun;
use super::consumer::Consumer;
use super::job_runner::JobRunner;
use super::step_pages::StepPages;
use crate::bulk::advance;
use crate::db::Db;
use crate::error::Error;

/// What one step has done.
///
/// [`Db::work`](crate::Db::work) returns it; [`Handlers`] has an example.
#[derive(Debug)]
#[non_exhaustive]
pub struct Work {
    /// Events that were handled, or put aside because they failed.
    pub events: u32,
    /// Jobs that were run, whatever their outcome.
    pub jobs: u32,
    /// Interrupted large deletions that were finished.
    pub deletions: u32,
    /// Reads of the feed and of checkpoints: what looking for events has cost.
    pub reads: u32,
    /// How many of these events and jobs failed.
    pub failures: u32,
    /// What keeps single consumers from going on; the others have gone on.
    pub problems: Vec<Error>,
    /// When to take the next step.
    pub next: Next,
}

/// When to come back.
///
/// [`Handlers`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once: there may be more.
    Now,
    /// At this time, in milliseconds since 1970; or earlier, to look for new changes.
    At(i64),
    /// Whenever something may have happened.
    Idle,
}

impl Work {
    /// Takes one step.
    pub(crate) async fn step(db: &Db, handlers: &Handlers) -> Result<Work, Error> {
        let mut work = Work::of_events(db, handlers).await?;
        match db.resume_deletions().await {
            // Other processes are at it. Events and jobs need not wait for them.
            Err(error @ Error::Contended) => work.problems.push(error),
            count => work.deletions = count?,
        }
        match advance(&db.shared).await {
            Ok(Next::Now) => work.call_again(),
            Ok(Next::At(time_ms)) => work.call_at(time_ms),
            Ok(Next::Idle) => {}
            // Events and jobs need not wait for it.
            Err(error) => work.problems.push(error),
        }
        if db.shared.schema().model().jobs().is_some() {
            JobRunner { db, handlers, work: &mut work }.run_due().await?;
        }
        work.call_again_if_busy();
        Ok(work)
    }

    /// Takes the part of a step that handles events.
    pub(crate) async fn of_events(db: &Db, handlers: &Handlers) -> Result<Work, Error> {
        handlers.check(db)?;
        let mut work = Work {
            events: 0,
            jobs: 0,
            deletions: 0,
            reads: 0,
            failures: 0,
            problems: vec![],
            next: Next::Idle,
        };
        let consumers = Consumer::all(db.shared.schema().model());
        let mut pages = StepPages::default();
        for consumer in consumers.iter().filter(|consumer| handlers.has(&consumer.target)) {
            let Some(_claim) = handlers.claims.claim(&consumer.name) else { continue };
            let (pages, work) = (&mut pages, &mut work);
            ConsumerRun { db, consumer, handlers, pages, work }.run().await?;
        }
        work.call_again_if_busy();
        Ok(work)
    }

    /// Others may have waited for what was done.
    fn call_again_if_busy(&mut self) {
        if self.events + self.jobs > 0 {
            self.call_again();
        }
    }

    /// Asks for the next step at once.
    pub(crate) fn call_again(&mut self) {
        self.next = Next::Now;
    }

    /// Asks for the next step at this time, or earlier.
    pub(crate) fn call_at(&mut self, time_ms: i64) {
        self.next = match self.next {
            Next::Now => Next::Now,
            Next::At(earlier) => Next::At(earlier.min(time_ms)),
            Next::Idle => Next::At(time_ms),
        };
    }
}
