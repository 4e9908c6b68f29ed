//! One consumer handles some events of one part of the feed.
//!
//! An event that cannot be handled stands in nobody's way: it becomes a job in the lane of its
//! entity, in the transaction that moves the position. Later events of the same entity queue up
//! behind it; all others go on.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use keyloom_model::Target;
use keyloom_store::{BatchGet, ChangePage, Error as StoreError, FeedStart, Get, SeqNo};
use keyloom_value::Value;

use super::consumer::{Checkpoint, Consumer};
use super::event::entity_of;
use super::handlers::{Effects, EventHandler, Failure, Handlers};
use super::job::{Due, Failed, Job};
use super::lane::Lane;
use super::run_jobs::own_fault;
use super::{Event, Work, webhook};
use crate::db::Db;
use crate::error::Error;
use crate::schema::Schema;

/// How many changes of rows are looked at in one step: as many as lanes are read at once.
const CHANGES_MAX: usize = 100;
/// How many events are handled in one transaction, if handlers go by the event alone.
const BATCH_MAX: usize = 16;
/// After how long a position is written though nothing was there for its consumer. Otherwise the
/// feed would be trimmed past it.
const REST_MS: i64 = 10 * 60 * 1000;
/// As many bytes of payloads as are written in one transaction, if there is more than one.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// The kind of jobs that are events of a consumer.
pub(crate) const EVENT_KIND: &str = "event:";

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    /// Somebody else has moved the position, or a lane: begin anew.
    LostRace,
}

/// One consumer at work in one part of the feed.
struct Run<'r> {
    db: &'r Db,
    consumer: &'r Consumer,
    handlers: &'r Handlers,
    work: &'r mut Work,
    /// As it is kept.
    checkpoint: Checkpoint,
    /// Lanes that have events which wait.
    lanes: BTreeSet<String>,
    /// Whether events were handled that had no effect: the position is not moved yet.
    is_ahead: bool,
}

impl Db {
    /// Handles some events for a consumer, from a checkpoint on. True if there were no more.
    pub(crate) async fn consume(
        &self,
        consumer: &Consumer,
        checkpoint: Checkpoint,
        handlers: &Handlers,
        work: &mut Work,
    ) -> Result<bool, Error> {
        let start = handlers.looked_from(&checkpoint);
        let page = match self.changes(&checkpoint.shard, start, CHANGES_MAX).await {
            Err(Error::Store(StoreError::ChangesGone { .. })) => {
                let oldest_ms = self.oldest_ms(&checkpoint.shard).await?;
                let (consumer, seen_ms) = (checkpoint.consumer, checkpoint.time_ms);
                return Err(Error::Behind { consumer, seen_ms, oldest_ms });
            }
            page => page?,
        };
        let schema = self.shared.schema();
        let is_ahead = false;
        let lanes = BTreeSet::new();
        let mut run = Run { db: self, consumer, handlers, work, checkpoint, lanes, is_ahead };
        run.page(&schema, &page).await
    }

    /// What an event means for a consumer.
    pub(crate) async fn effects_of(
        &self,
        consumer: &Consumer,
        handlers: &Handlers,
        event: &Event,
    ) -> Result<Effects, Failure> {
        let made = |job: Job| Ok(Effects::new().schedule(job.lane(consumer.lane(event))));
        match &consumer.target {
            Target::Webhook(address) => made(webhook::posting(address, &consumer.name, event)),
            Target::Job(kind) => made(Job::new(kind).payload_value(event.to_json())),
            Target::Handler(name) => match handlers.find_event(name) {
                Some(handler) => handler.call(event, self.of_tenant(event.tenant.as_ref())).await,
                None => Err(Failure::new(format!("No handler here has the name `{name}`."))),
            },
        }
    }

    /// The database of a tenant, if there is one.
    pub(crate) fn of_tenant(&self, tenant: Option<&Value>) -> Db {
        Db { shared: self.shared.clone(), tenant: tenant.cloned(), watch: None, moment: None }
    }

    /// How long to wait after so many attempts: by chance between half of the longest and all.
    pub(crate) fn wait_ms(&self, longest: u64) -> Result<i64, Error> {
        let by_chance = self.shared.stamps.below(longest / 2 + 1)?;
        Ok(i64::try_from(longest - longest / 2 + by_chance).unwrap_or(i64::MAX))
    }
}

impl Handlers {
    /// Where to read on: what was looked at and is not for the consumer need not be read again.
    fn looked_from(&self, checkpoint: &Checkpoint) -> FeedStart {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        match looked.get(&(checkpoint.consumer.clone(), checkpoint.shard.clone())) {
            Some((after, to)) if checkpoint.after == Some(*after) => FeedStart::After(*to),
            Some(_) | None => checkpoint.start(),
        }
    }

    fn has_looked(&self, checkpoint: &Checkpoint, to: SeqNo) {
        let Some(after) = checkpoint.after else { return };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.insert((checkpoint.consumer.clone(), checkpoint.shard.clone()), (after, to));
    }
}

impl Run<'_> {
    /// Handles a page of changes. True if it was the last, and all of it was handled.
    async fn page(&mut self, schema: &Arc<Schema>, page: &ChangePage) -> Result<bool, Error> {
        let events = self.events(schema, page)?;
        self.find_lanes(&events).await?;
        let mut flow = Flow::On;
        for same_tenant in events.chunk_by(|one, next| one.0.tenant == next.0.tenant) {
            for some in same_tenant.chunks(self.batch_max()) {
                if flow == Flow::On {
                    flow = self.some(some).await?;
                }
            }
        }
        if flow == Flow::LostRace {
            self.work.is_more();
            return Ok(false);
        }
        self.turn(page).await?;
        Ok(page.changes.len() < CHANGES_MAX)
    }

    /// The events that are for the consumer. One that cannot be read is for it too.
    fn events(
        &self,
        schema: &Arc<Schema>,
        page: &ChangePage,
    ) -> Result<Vec<(Event, Option<Failure>)>, Error> {
        let mut events = vec![];
        for change in &page.changes {
            match Event::of(schema, &self.checkpoint.shard, change) {
                Ok(None) => {}
                Ok(Some(event)) => {
                    let entity = event.entity_id(schema);
                    if entity.is_some_and(|id| self.consumer.is_bound(id, event.change)) {
                        events.push((event, None));
                    }
                }
                Err(error @ Error::Damaged { .. }) => {
                    let key = entity_of(schema, &change.key);
                    if let Some(key) = key.filter(|key| self.consumer.is_about(key.entity)) {
                        let event =
                            Event::unreadable(schema, key, (&self.checkpoint.shard, change));
                        events.push((event, Some(Failure::fatal(error))));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(events)
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

    /// Which events have others of their entity before them that wait. One read for all.
    async fn find_lanes(&mut self, events: &[(Event, Option<Failure>)]) -> Result<(), Error> {
        let names: BTreeSet<String> =
            events.iter().map(|(event, _)| waiting_lane(self.consumer, event)).collect();
        let table = &self.db.shared.table;
        let gets = names.iter().map(|name| Get::new(table, Lane::key(name).to_item())).collect();
        let mut batch = BatchGet { gets };
        let mut found = vec![];
        while !batch.gets.is_empty() {
            let got = self.db.shared.store.batch_get(batch).await?;
            found.extend(got.items.into_iter().map(|(_, item)| item));
            batch = BatchGet { gets: got.unprocessed };
        }
        let is_there = |name: &String| {
            let key = Lane::key(name).to_item();
            found
                .iter()
                .any(|row| key.iter().all(|(name, part)| row.get(name.as_str()) == Some(part)))
        };
        self.lanes = names.into_iter().filter(is_there).collect();
        Ok(())
    }

    /// Handles events of one tenant: together if that works, otherwise one by one.
    async fn some(&mut self, events: &[(Event, Option<Failure>)]) -> Result<Flow, Error> {
        if let Some(flow) = self.at_once(events).await? {
            return Ok(flow);
        }
        for (event, unreadable) in events {
            if self.one(event, unreadable.clone()).await? == Flow::LostRace {
                return Ok(Flow::LostRace);
            }
        }
        Ok(Flow::On)
    }

    /// Handles several events in one transaction; none if that does not work.
    async fn at_once(
        &mut self,
        events: &[(Event, Option<Failure>)],
    ) -> Result<Option<Flow>, Error> {
        let Some((last, _)) = events.last().filter(|_| events.len() > 1) else { return Ok(None) };
        let Some(effects) = self.together(events).await else { return Ok(None) };
        if effects.is_empty() {
            self.is_ahead = true;
        } else if let Err(error) = self.commit(&effects, last).await {
            let failure = self.judge(error).await?;
            return Ok(failure.is_none().then_some(Flow::LostRace));
        }
        self.work.events += u32::try_from(events.len()).unwrap_or(u32::MAX);
        Ok(Some(Flow::On))
    }

    /// The effects of all of them, if none fails and none has to wait.
    async fn together(&self, events: &[(Event, Option<Failure>)]) -> Option<Effects> {
        let (mut all, mut bytes) = (Effects::new(), 0);
        for (event, unreadable) in events {
            let must_wait = self.lanes.contains(&waiting_lane(self.consumer, event));
            if must_wait || unreadable.is_some() {
                return None;
            }
            let effects = self.db.effects_of(self.consumer, self.handlers, event).await.ok()?;
            bytes += effects.jobs.iter().map(Job::payload_bytes).sum::<usize>();
            if bytes > BATCH_BYTES_MAX {
                return None;
            }
            all.changes.extend(effects.changes);
            all.jobs.extend(effects.jobs);
        }
        Some(all)
    }

    async fn one(&mut self, event: &Event, unreadable: Option<Failure>) -> Result<Flow, Error> {
        self.work.events += 1;
        if self.lanes.contains(&waiting_lane(self.consumer, event)) && unreadable.is_none() {
            return self.put_aside(event, None).await;
        }
        let answer = match unreadable {
            Some(failure) => Err(failure),
            None => self.db.effects_of(self.consumer, self.handlers, event).await,
        };
        let failure = match answer {
            Ok(effects) if effects.is_empty() => {
                self.is_ahead = true;
                return Ok(Flow::On);
            }
            Ok(effects) => match self.commit(&effects, event).await {
                Ok(()) => return Ok(Flow::On),
                Err(error) => match self.judge(error).await? {
                    Some(failure) => failure,
                    None => return Ok(Flow::LostRace),
                },
            },
            Err(failure) => failure,
        };
        self.work.failures += 1;
        self.put_aside(event, Some(failure)).await
    }

    /// Makes effects happen and moves the position past an event, together.
    async fn commit(&mut self, effects: &Effects, event: &Event) -> Result<(), Error> {
        let seq = event.position.0.get(&self.checkpoint.shard).copied();
        let next = Checkpoint {
            after: seq.or(self.checkpoint.after),
            time_ms: event.time_ms,
            moved_ms: self.db.shared.now_ms(),
            ..self.checkpoint.clone()
        };
        let rider = self.checkpoint.moves_to(&next, &self.db.shared.table);
        let db = self.db.of_tenant(event.tenant.as_ref());
        db.perform(effects, None, vec![rider]).await?;
        (self.checkpoint, self.is_ahead) = (next, false);
        Ok(())
    }

    /// What an error means: none if somebody else has moved the position, otherwise that the event
    /// could not be handled; or it is the store's.
    async fn judge(&self, error: Error) -> Result<Option<Failure>, Error> {
        let checkpoint = self.db.checkpoint(&self.consumer.name, &self.checkpoint.shard).await?;
        if checkpoint.after != self.checkpoint.after {
            return Ok(None);
        }
        own_fault(error).map(Some)
    }

    /// The event becomes a job: to be tried again after it failed, or after those before it.
    async fn put_aside(&mut self, event: &Event, failure: Option<Failure>) -> Result<Flow, Error> {
        let retry = self.handlers.retry_of(&self.consumer.name);
        let lane = waiting_lane(self.consumer, event);
        let failed = failure.map(|failure| Failed {
            is_dead: failure.is_final || retry.attempts_max <= 1,
            error: short(&failure.message),
        });
        let wait_ms = match &failed {
            None => 0,
            Some(_) => self.db.wait_ms(retry.wait_ms(1))?,
        };
        let is_dead = failed.as_ref().is_some_and(|failed| failed.is_dead);
        let job = Job {
            lane: Some(lane.clone()),
            due: Due::At(self.db.shared.now_ms().saturating_add(wait_ms)),
            payload: Some(Value::from(event.to_json())),
            failed,
            ..Job::new(&format!("{EVENT_KIND}{}", self.consumer.name))
        };
        match self.commit(&Effects::new().schedule(job), event).await {
            Ok(()) => {
                if !is_dead {
                    self.lanes.insert(lane);
                }
                Ok(Flow::On)
            }
            // The position or the lane has changed.
            Err(Error::Contended) => Ok(Flow::LostRace),
            Err(error) => Err(error),
        }
    }

    /// Ends a page: the position is written if something was handled, or if it would be left
    /// behind. Not otherwise: writing it is a change too.
    async fn turn(&mut self, page: &ChangePage) -> Result<(), Error> {
        let now_ms = self.db.shared.now_ms();
        let is_full = page.changes.len() >= CHANGES_MAX;
        let is_due = now_ms.saturating_sub(self.checkpoint.moved_ms) >= REST_MS;
        let is_new = self.checkpoint.after != Some(page.next);
        if is_full {
            self.work.is_more();
        }
        if !is_new || !(self.is_ahead || is_full || is_due) {
            self.handlers.has_looked(&self.checkpoint, page.next);
            return Ok(());
        }
        let time_ms = page.changes.last().map(|last| i64::try_from(last.at.0).unwrap_or(i64::MAX));
        let next = Checkpoint {
            after: Some(page.next),
            time_ms: time_ms.unwrap_or(self.checkpoint.time_ms),
            moved_ms: now_ms,
            ..self.checkpoint.clone()
        };
        let rider = self.checkpoint.moves_to(&next, &self.db.shared.table);
        match self.db.perform(&Effects::new(), None, vec![rider]).await {
            Ok(_) => Ok(()),
            Err(Error::Contended) => {
                self.work.is_more();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// The lane of events that wait to be handled by a consumer, of one entity.
fn waiting_lane(consumer: &Consumer, event: &Event) -> String {
    format!("{EVENT_KIND}{}", consumer.lane(event))
}

/// As much of a message as is kept.
pub(crate) fn short(message: &str) -> String {
    message.chars().take(2_000).collect()
}

impl Db {
    /// The event that a job has kept.
    pub(crate) fn kept_event(&self, payload: Option<&Value>) -> Result<Event, Failure> {
        let json = payload.and_then(Value::as_s);
        let json = json.ok_or_else(|| Failure::fatal("The job does not say which event it is."))?;
        Ok(Event::from_json(&self.shared.schema(), json)?)
    }
}
