//! What is called: handlers of events and of jobs, what they want done, and how often they are
//! tried.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use keyloom_model::{Model, Target};
use keyloom_store::{SeqNo, ShardId};
use keyloom_value::Value;

use super::consumer::Consumer;
use super::run_events::EVENT_KIND;
use super::webhook::{Deliver, WEBHOOK};
use super::{Event, Job};
use crate::change::Change;
use crate::db::Db;
use crate::record::Record;

/// What a handler wants done in the store: all of it together, once, or nothing.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Effects {
    pub(crate) changes: Vec<Change>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) result: Option<Value>,
}

/// Why a handler did not do what it was called for.
///
/// Every error becomes one with `?`, and is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub(crate) message: String,
    pub(crate) is_final: bool,
}

/// How often something is tried, and when again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often it is tried at all; then it is a dead letter.
    pub attempts_max: u32,
    /// How long to wait after the first failure, about; after each other one twice as long.
    pub first: Duration,
    /// As long as one wait can be.
    pub longest: Duration,
    /// How long a worker has for a job until another one takes it over.
    pub lease: Duration,
}

impl Default for Retry {
    /// Sixteen times, after a second at first and at most an hour: five hours in all.
    fn default() -> Retry {
        Retry {
            attempts_max: 16,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(3600),
            lease: Duration::from_secs(60),
        }
    }
}

/// Everything that can be called, by name. One for a process; every worker of it shares it.
#[derive(Default)]
pub struct Handlers {
    events: BTreeMap<String, EventHandler>,
    jobs: BTreeMap<String, JobHandler>,
    retries: BTreeMap<String, Retry>,
    pub(crate) deliver: Option<Arc<dyn Deliver>>,
    /// Whether what is not registered is left to other programs.
    is_partial: bool,
    /// Consumers that a worker of this process is at.
    busy: Mutex<BTreeSet<String>>,
    /// By consumer and part: up to where nothing was for it, since it was at a position.
    pub(crate) looked: Mutex<BTreeMap<(String, ShardId), (SeqNo, SeqNo)>>,
}

/// What a handler answers.
type Answer = Result<Effects, Failure>;
type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;
type JobHandler = Arc<dyn Fn(Record, Db) -> Answering + Send + Sync>;

/// A handler of events.
#[derive(Clone)]
pub(crate) enum EventHandler {
    /// Goes by the event alone, so several events can be handled in one transaction.
    Plain(Arc<dyn Fn(&Event) -> Answer + Send + Sync>),
    /// May read: each event is handled after the effects of the one before are there.
    Reading(Arc<dyn Fn(Event, Db) -> Answering + Send + Sync>),
}

impl Handlers {
    /// None yet.
    pub fn new() -> Handlers {
        Handlers::default()
    }

    /// What the model calls by this name, if the event is all that is needed to know what is to be
    /// done.
    #[must_use]
    pub fn event(
        mut self,
        name: &str,
        handler: impl Fn(&Event) -> Answer + Send + Sync + 'static,
    ) -> Handlers {
        self.events.insert(name.to_owned(), EventHandler::Plain(Arc::new(handler)));
        self
    }

    /// What the model calls by this name, with the database of the event's tenant to read from.
    #[must_use]
    pub fn event_with<F>(
        mut self,
        name: &str,
        handler: impl Fn(Event, Db) -> F + Send + Sync + 'static,
    ) -> Handlers
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let handler = Arc::new(move |event, db| Box::pin(handler(event, db)) as Answering);
        self.events.insert(name.to_owned(), EventHandler::Reading(handler));
        self
    }

    /// What runs jobs of a kind, with the database of the job's tenant to read from. It may be run
    /// more than once; its effects happen once.
    #[must_use]
    pub fn job<F>(
        mut self,
        kind: &str,
        handler: impl Fn(Record, Db) -> F + Send + Sync + 'static,
    ) -> Handlers
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let handler = Arc::new(move |job, db| Box::pin(handler(job, db)) as Answering);
        self.jobs.insert(kind.to_owned(), handler);
        self
    }

    /// What posts events to webhooks that the model names.
    #[must_use]
    pub fn webhooks(mut self, deliver: Arc<dyn Deliver>) -> Handlers {
        self.deliver = Some(deliver);
        self
    }

    /// Leaves what the model names and nobody has registered here to another program. Without this,
    /// it is an error. Events wait for that program as long as the feed keeps them, and jobs until
    /// it runs them.
    #[must_use]
    pub fn leave_others(mut self) -> Handlers {
        self.is_partial = true;
        self
    }

    /// How often a handler of this name, or jobs of this kind, are tried.
    #[must_use]
    pub fn retry(mut self, name: &str, retry: Retry) -> Handlers {
        self.retries.insert(name.to_owned(), retry);
        self
    }

    pub(crate) fn find_event(&self, name: &str) -> Option<EventHandler> {
        self.events.get(name).cloned()
    }

    pub(crate) fn find_job(&self, kind: &str) -> Option<JobHandler> {
        self.jobs.get(kind).cloned()
    }

    /// Whether something that a model names can be done here.
    pub(crate) fn has(&self, target: &Target) -> bool {
        match target {
            Target::Handler(name) => self.events.contains_key(name),
            Target::Job(kind) => self.jobs.contains_key(kind),
            Target::Webhook(_) => self.deliver.is_some(),
        }
    }

    /// Whether a job is to be run here. One that nobody can run is, so that it is told.
    pub(crate) fn runs(&self, model: &Model, job: &Record) -> bool {
        let kind = job.get("kind").and_then(Value::as_s).unwrap_or_default();
        !self.is_partial
            || self.jobs.contains_key(kind)
            || match kind.strip_prefix(EVENT_KIND) {
                None => kind == WEBHOOK && self.deliver.is_some(),
                Some(name) => {
                    let consumers = Consumer::all(model);
                    let consumer = consumers.iter().find(|consumer| consumer.name == name);
                    consumer.is_none_or(|consumer| self.has(&consumer.target))
                }
            }
    }

    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    pub(crate) fn job_names(&self) -> impl Iterator<Item = &str> {
        self.jobs.keys().map(String::as_str)
    }

    pub(crate) fn event_names(&self) -> impl Iterator<Item = &str> {
        self.events.keys().map(String::as_str)
    }

    pub(crate) fn retry_of(&self, name: &str) -> Retry {
        self.retries.get(name).copied().unwrap_or_default()
    }

    /// The consumer, unless another worker of this process is at it.
    pub(crate) fn claim<'h>(&'h self, consumer: &str) -> Option<Claim<'h>> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = busy.insert(consumer.to_owned());
        is_free.then(|| Claim { handlers: self, consumer: consumer.to_owned() })
    }
}

/// That a worker is at a consumer. Two could not do harm: one would only work in vain.
pub(crate) struct Claim<'h> {
    handlers: &'h Handlers,
    consumer: String,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut busy = self.handlers.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.remove(&self.consumer);
    }
}

impl EventHandler {
    pub(crate) async fn call(&self, event: &Event, db: Db) -> Answer {
        match self {
            EventHandler::Plain(handler) => guarded(async { handler(event) }).await,
            EventHandler::Reading(handler) => {
                guarded(async { handler(event.clone(), db).await }).await
            }
        }
    }
}

/// A handler that panics has failed, as one that says so.
pub(crate) async fn guarded(answer: impl Future<Output = Answer>) -> Answer {
    let mut answer = pin!(answer);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(Failure::new("The handler panicked."))))
    })
    .await
}

impl Retry {
    /// How long to wait after so many attempts, without chance: the longest it can be.
    pub(crate) fn wait_ms(&self, attempts: i64) -> u64 {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(63);
        ms(self.first).saturating_mul(1 << doublings).min(ms(self.longest))
    }
}

impl Effects {
    /// Nothing.
    pub fn new() -> Effects {
        Effects::default()
    }

    /// And this change.
    pub fn change(mut self, change: Change) -> Effects {
        self.changes.push(change);
        self
    }

    /// And this job.
    pub fn schedule(mut self, job: Job) -> Effects {
        self.jobs.push(job);
        self
    }

    /// With this to be kept as the job's result.
    pub fn result(mut self, result: impl Into<Value>) -> Effects {
        self.result = Some(result.into());
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.jobs.is_empty()
    }
}

impl Failure {
    /// It is tried again, as often as may be.
    pub fn new(message: impl fmt::Display) -> Failure {
        Failure { message: message.to_string(), is_final: false }
    }

    /// It is not tried again: it would fail again.
    pub fn fatal(message: impl fmt::Display) -> Failure {
        Failure { message: message.to_string(), is_final: true }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(error)
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("events", &self.events.keys())
            .field("jobs", &self.jobs.keys())
            .finish_non_exhaustive()
    }
}
