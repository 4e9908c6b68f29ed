//! A consumer handles the events of one page of the feed.
//!
//! An event that cannot be handled does not block the others: it becomes a job in the lane of its
//! entity, in the transaction that moves the checkpoint. Later events of the same entity queue
//! behind it; all others proceed.

use keyloom_model::Target;

use super::consumer::Consumer;
use super::effects::Effects;
use super::failure::Failure;
use super::handlers::EventHandler;
use super::progress::{Advance, BATCH_MAX, LeaseUse, Progress};
use super::put_aside::{Aside, retry_job};
use super::select::Selected;
use super::waiting::WaitingLanes;
use super::{Event, Handlers, Job, Work};
use crate::db::Db;
use crate::error::Error;

/// How many bytes of payloads share a transaction, if it has more than one.
pub(crate) const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// Whether to go on with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    /// The rest of the page has to be read again: somebody else has moved the checkpoint or changed
    /// a lane, or time was up.
    Again,
    /// Another process handles it.
    Leave,
}

/// One consumer that handles the events of a page.
pub(crate) struct Handling<'h> {
    pub(crate) db: &'h Db,
    pub(crate) consumer: &'h Consumer,
    pub(crate) handlers: &'h Handlers,
    pub(crate) work: &'h mut Work,
    pub(crate) progress: &'h mut Progress,
    pub(crate) waiting: WaitingLanes<'h>,
}

impl Handling<'_> {
    /// Handles all events, in batches of one tenant.
    pub(crate) async fn all(&mut self, events: &[Selected]) -> Result<Flow, Error> {
        for same_tenant in events.chunk_by(|one, next| one.event.tenant == next.event.tenant) {
            for batch in same_tenant.chunks(self.batch_max()) {
                if self.batch(batch).await? == Flow::Again {
                    return Ok(Flow::Again);
                }
            }
        }
        Ok(Flow::Continue)
    }

    fn batch_max(&self) -> usize {
        match &self.consumer.target {
            Target::Webhook(_) | Target::Job(_) => BATCH_MAX,
            Target::Handler(name) => match self.handlers.find_event(name) {
                Some(EventHandler::Plain(_)) => BATCH_MAX,
                Some(EventHandler::Reading(_)) | None => 1,
            },
        }
    }

    /// Handles events in one transaction if that works, and one by one otherwise.
    async fn batch(&mut self, events: &[Selected]) -> Result<Flow, Error> {
        if let Some(flow) = self.together(events).await? {
            return Ok(flow);
        }
        for selected in events {
            if self.one(selected).await? == Flow::Again {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Continue)
    }

    /// Handles several events in one transaction. Returns none if that does not work.
    async fn together(&mut self, events: &[Selected]) -> Result<Option<Flow>, Error> {
        let Some(last) = events.last().filter(|_| events.len() > 1) else { return Ok(None) };
        let Some(effects) = self.combined_effects(events).await else { return Ok(None) };
        if effects.is_empty() {
            self.progress.pass();
        } else if let Err(error) = self.commit(&effects, &last.event).await {
            if self.progress.is_overtaken().await? {
                return Ok(Some(Flow::Again));
            }
            // One by one, the event that caused it is found.
            return Failure::of_effects(error).map(|_| None);
        }
        self.work.events += u32::try_from(events.len()).unwrap_or(u32::MAX);
        Ok(Some(Flow::Continue))
    }

    /// Returns the effects of all events. None if one fails, has to wait, or is too large.
    async fn combined_effects(&self, events: &[Selected]) -> Option<Effects> {
        let (mut all, mut bytes) = (Effects::new(), 0);
        for Selected { event, unreadable } in events {
            if self.waiting.hold(event) || unreadable.is_some() {
                return None;
            }
            let effects = self.consumer.effects(self.db, self.handlers, event).await.ok()?;
            bytes += effects.jobs.iter().map(Job::payload_bytes).sum::<usize>();
            if bytes > BATCH_BYTES_MAX {
                return None;
            }
            all.changes.extend(effects.changes);
            all.jobs.extend(effects.jobs);
        }
        Some(all)
    }

    async fn one(&mut self, Selected { event, unreadable }: &Selected) -> Result<Flow, Error> {
        self.work.events += 1;
        if self.waiting.hold(event) && unreadable.is_none() {
            return self.put_aside(event, None).await;
        }
        let outcome = match unreadable {
            Some(failure) => Err(failure.clone()),
            None => self.consumer.effects(self.db, self.handlers, event).await,
        };
        let failure = match outcome {
            Ok(effects) if effects.is_empty() => {
                self.progress.pass();
                return Ok(Flow::Continue);
            }
            Ok(effects) => match self.commit(&effects, event).await {
                Ok(()) => return Ok(Flow::Continue),
                Err(_) if self.progress.is_overtaken().await? => return Ok(Flow::Again),
                Err(error) => Failure::of_effects(error)?,
            },
            Err(failure) => failure,
        };
        self.work.failures += 1;
        self.put_aside(event, Some(failure)).await
    }

    async fn commit(&mut self, effects: &Effects, last: &Event) -> Result<(), Error> {
        let db = &Db::new(self.db.shared.clone(), last.tenant.clone());
        self.progress.commit(Advance { db, effects, last, lease: LeaseUse::Release }).await
    }

    /// Turns an event into a job: to be retried after it failed, or after those before it.
    async fn put_aside(&mut self, event: &Event, failure: Option<Failure>) -> Result<Flow, Error> {
        let aside = Aside { failure, retry: self.handlers.retry_of(&self.consumer.name) };
        let job = aside.schedule(retry_job(self.consumer, event), &self.db.shared)?;
        match self.commit(&Effects::new().schedule(job), event).await {
            Ok(()) => {
                if !aside.is_dead() {
                    self.waiting.add(event);
                }
                Ok(Flow::Continue)
            }
            Err(Error::Contended) => Ok(Flow::Again),
            Err(error) => Err(error),
        }
    }
}
