//! The methods of [`Db`] for events and jobs. Each delegates to the type that does the work.

use keyloom_store::FeedStart;

use super::backlog::BacklogReader;
use super::checkpoint::Checkpoints;
use super::feed::{Feed, ReadEvents};
use super::heartbeat::Heartbeat;
use super::jobs::Jobs;
use super::{Backlog, Event, EventPage, Handlers, Job, Next, Position, Work};
use crate::answer::Answer;
use crate::db::Db;
use crate::record::Record;

impl Db {
    /// Returns the position after everything that has happened.
    ///
    /// [`Db::events`] has an example.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn newest_position(&self) -> Answer<'_, Position> {
        Box::pin(Feed::new(&self.shared).newest_position())
    }

    /// Returns the events after a position: of all entities but jobs, and of all tenants. If this is
    /// the database of a tenant, only events of that tenant and of shared entities. `limit` bounds
    /// the row changes that are examined, so a page can be short or empty without being the last.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, events::Position, events::TriggeringChange::Insert};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let start = db.newest_position().await?;
    /// let task = db.create("task", &json!({ "name": "cook" })).await?;
    /// let page = db.events(&start, 100).await?;
    /// assert_eq!((page.events[0].change, page.events[0].id.as_str()), (Insert, task.id()));
    /// // A client can keep the position as a text.
    /// let position: Position = page.next.to_string().parse()?;
    /// assert!(db.events(&position, 100).await?.events.is_empty());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// [`keyloom_store::Error::ChangesGone`] if changes after the position are no longer kept;
    /// [`keyloom_store::Error::ChangesAhead`] or [`keyloom_store::Invalid::Shard`] if the position is
    /// of another database, or of this one before it was restored to an earlier moment.
    pub fn events<'a>(&'a self, after: &'a Position, limit: usize) -> Answer<'a, EventPage> {
        let read = ReadEvents { after, tenant: self.tenant.as_ref(), limit };
        Box::pin(Feed::new(&self.shared).events(read))
    }

    /// Returns whether an event is one of this database: if it is the database of a tenant, one of that
    /// tenant or of a shared entity.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\ntenant = \"team\"\nfields.team = \"text\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let start = db.newest_position().await?;
    /// db.tenant("red").create("task", &json!({})).await?;
    /// let event = &db.events(&start, 100).await?.events[0];
    /// assert!(db.sees(event) && db.tenant("red").sees(event));
    /// assert!(!db.tenant("blue").sees(event));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn sees(&self, event: &Event) -> bool {
        event.is_seen_by(self.tenant.as_ref())
    }

    /// Takes one step: each consumer handles some events, some due jobs run, and interrupted large
    /// deletions are finished. The first two are bounded; a large deletion is finished as a whole, so
    /// call [`Db::resume_deletions`] elsewhere if events must not wait for that. Any number of
    /// threads and processes can call this at once. [`Pace`](super::Pace) says when.
    ///
    /// Dropping the future keeps what was done. A job that was running is taken over when its lease
    /// ends, and events that were being posted to a webhook are posted again. On a store that processes share, call [`Db::heartbeat`] beside this.
    ///
    /// [`Handlers`] has an example.
    ///
    /// # Errors
    ///
    /// If the model calls something that no handler is registered for, or the store fails.
    pub fn work<'a>(&'a self, handlers: &'a Handlers) -> Answer<'a, Work> {
        Box::pin(async move { Work::step(&Db::new(self.shared.clone(), None), handlers).await })
    }

    /// Returns whether several processes can have the store of this database open at once, as in
    /// DynamoDB, where every look for changes is a request.
    pub fn is_shared(&self) -> bool {
        self.shared.store.opening().is_none()
    }

    /// Moves a consumer to the oldest change that is kept or behind the newest, whatever it has
    /// seen. Skipped events are not handled; events that it sees again are handled again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, events::Effects, events::FeedStart, events::Handlers, events::Next};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\n[on.task]\ninsert = \"greet\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let handlers = Handlers::new().event("greet", |_| Ok(Effects::new()));
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// while db.work(&handlers).await?.next == Next::Now {}
    /// // Its handler was fixed, and sees all events again that are still kept.
    /// db.resume("greet", FeedStart::Oldest).await?;
    /// assert_eq!(db.work(&handlers).await?.events, 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the model calls no such consumer, or the store fails.
    pub fn resume<'a>(&'a self, consumer: &'a str, from: FeedStart) -> Answer<'a, ()> {
        Box::pin(Checkpoints::new(&self.shared).reset(consumer, from))
    }

    /// Measures how much is left to do. Bounded, but too slow for every request.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\n[on.task]\ninsert = \"greet\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// let backlog = db.backlog().await?;
    /// let greet = &backlog.consumers[0];
    /// assert_eq!((greet.consumer.as_str(), greet.events), ("greet", 1));
    /// assert_eq!(backlog.failed, 0);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn backlog(&self) -> Answer<'_, Backlog> {
        Box::pin(BacklogReader::new(self).read())
    }

    /// Schedules a job. If this is the database of a tenant, the job runs with it.
    ///
    /// [`Job`] has an example.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`](crate::Error::Exists) if there is a job with its id;
    /// [`Error::NoJobs`](crate::Error::NoJobs) if the model has none.
    pub fn schedule(&self, job: Job) -> Answer<'_, Record> {
        Box::pin(Jobs::new(self).schedule(job))
    }

    /// Cancels a job that has not ended. One that is running may have had effects outside already,
    /// and will have none in the store.
    ///
    /// [`Job`] has an example.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`](crate::Error::NotFound);
    /// [`Error::JobState`](crate::Error::JobState) if it has ended.
    pub fn cancel<'a>(&'a self, job: &'a str) -> Answer<'a, Record> {
        Box::pin(Jobs::new(self).cancel(job))
    }

    /// Moves a waiting job to another time, in milliseconds since 1970.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value, events::Job};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # let model = "jobs = true\n[entity.order]";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.schedule(Job::new("remind").id("order-7")).await?;
    /// let job = db.reschedule("order-7", 4_102_444_800_000).await?;
    /// assert_eq!(job.get("due"), Some(&Value::from(4_102_444_800_000_i64)));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`](crate::Error::NotFound);
    /// [`Error::JobState`](crate::Error::JobState) if it is not waiting.
    pub fn reschedule<'a>(&'a self, job: &'a str, due_ms: i64) -> Answer<'a, Record> {
        Box::pin(Jobs::new(self).reschedule(job, due_ms))
    }

    /// Runs a failed or canceled job again, with all of its attempts. In a lane, it goes to the end
    /// of the queue.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::events::{Failure, Handlers, Job, Next};
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # let model = "jobs = true\n[entity.order]";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let no_stock = || Failure::fatal("There is no stock.");
    /// let handlers = Handlers::new().job("ship", move |_, _| async move { Err(no_stock()) });
    /// db.schedule(Job::new("ship").id("order-7")).await?;
    /// while db.work(&handlers).await?.next == Next::Now {}
    /// let job = db.get("job", "order-7").await?.expect("dead letters are kept");
    /// assert_eq!(job.get("status"), Some(&Value::from("failed")));
    /// // Now there is stock.
    /// let job = db.replay("order-7").await?;
    /// assert_eq!(job.get("status"), Some(&Value::from("waiting")));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`](crate::Error::NotFound);
    /// [`Error::JobState`](crate::Error::JobState) if it has not failed.
    pub fn replay<'a>(&'a self, job: &'a str) -> Answer<'a, Record> {
        Box::pin(Jobs::new(self).replay(job))
    }

    /// Tells the processes that share this store that this one is alive. Call it every two seconds,
    /// beside [`Db::work`] and not in turn with it, because handlers may take long. If this process
    /// dies or stalls, another one runs its jobs after about six seconds. Without heartbeat, jobs of
    /// a dead process wait until their lease ends.
    ///
    /// Writes one row if jobs are running or were a moment ago, and nothing otherwise. Returns when
    /// to call it again: [`Next::Idle`] if that is not necessary, because processes do not share this
    /// store or the model has no jobs.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, events::Next};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # let model = "jobs = true\n[entity.order]";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// // A task beside the workers does this in a loop.
    /// let next = db.heartbeat().await?;
    /// assert!(matches!(next, Next::At(_)));
    /// // At the end of the process:
    /// db.stop_heartbeat().await?;
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails. Call it again soon.
    pub fn heartbeat(&self) -> Answer<'_, Next> {
        Box::pin(Heartbeat::new(&self.shared).call())
    }

    /// Ends the heartbeat of this process. Stop its workers first: other processes can then run at
    /// once what they have left.
    ///
    /// [`Db::heartbeat`] has an example.
    ///
    /// # Errors
    ///
    /// If the store fails. Other processes then notice after six seconds.
    pub fn stop_heartbeat(&self) -> Answer<'_, ()> {
        Box::pin(Heartbeat::stop(self))
    }
}
