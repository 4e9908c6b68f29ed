//! The registry of a program: which handlers it has for events, jobs and webhooks.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use keyloom_model::{Model, Target};
use keyloom_value::Value;

use super::Event;
use super::claim::Claims;
use super::consumer::Consumer;
use super::effects::Effects;
use super::failure::Failure;
use super::put_aside::EVENT_KIND;
use super::retry::Retry;
use super::scanned::Scanned;
use super::webhook::{Deliver, WEBHOOK};
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;
use crate::unknown::unknown;

/// All handlers of a program, by name. A process has one registry; all of its workers share it.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Change, Db, events::Effects, events::Handlers, events::Next};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.order]
///     fields.buyer = "text"
///     [entity.invoice]
///     id = "given"
///     [on.order]
///     insert = "bill"
/// "#;
/// let db = Db::open(model, store).await?;
/// let handlers = Handlers::new().event("bill", |event| {
///     Ok(Effects::new().change(Change::create("invoice", &json!({ "id": event.id }))?))
/// });
/// let order = db.create("order", &json!({ "buyer": "ann" })).await?;
/// // A program calls this in a loop.
/// while db.work(&handlers).await?.next == Next::Now {}
/// assert!(db.get("invoice", order.id()).await?.is_some());
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Default)]
pub struct Handlers {
    events: BTreeMap<String, EventHandler>,
    jobs: BTreeMap<String, JobHandler>,
    retries: BTreeMap<String, Retry>,
    pub(crate) deliver: Option<Arc<dyn Deliver>>,
    /// Whether what is not registered is left to other programs.
    is_partial: bool,
    pub(crate) claims: Claims,
    pub(crate) scanned: Scanned,
}

/// What a handler returns.
type Outcome = Result<Effects, Failure>;
type PendingOutcome = Pin<Box<dyn Future<Output = Outcome> + Send>>;
type JobHandler = Arc<dyn Fn(Record, Db) -> PendingOutcome + Send + Sync>;

/// A handler of events.
#[derive(Clone)]
pub(crate) enum EventHandler {
    /// Depends on the event alone, so several events can be handled in one transaction.
    Plain(Arc<dyn Fn(&Event) -> Outcome + Send + Sync>),
    /// May read: each event is handled after the effects of the previous one are committed.
    Reading(Arc<dyn Fn(Event, Db) -> PendingOutcome + Send + Sync>),
}

impl Handlers {
    /// Creates an empty registry.
    pub fn new() -> Handlers {
        Handlers::default()
    }

    /// Registers an event handler under the name that the model uses. It decides by the event
    /// alone.
    #[must_use]
    pub fn event(
        mut self,
        name: &str,
        handler: impl Fn(&Event) -> Outcome + Send + Sync + 'static,
    ) -> Handlers {
        self.events.insert(name.to_owned(), EventHandler::Plain(Arc::new(handler)));
        self
    }

    /// Registers an event handler under the name that the model uses. It can read from the
    /// database of the event's tenant.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Change, Db, Value, events::Effects, events::Handlers, events::Next};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.order]\nlist.all = {}\n[entity.total]\nid = \"given\"\n\
    /// #     fields.orders = \"int\"\n[on.order]\ninsert = \"count\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let handlers = Handlers::new().event_with("count", |_event, db| async move {
    ///     let orders = db.list("order", "all").limit(1000).read().await?.items.len();
    ///     let total = json!({ "orders": orders });
    ///     Ok(Effects::new().change(Change::put("total", "orders", &total)?))
    /// });
    /// db.create("order", &json!({})).await?;
    /// while db.work(&handlers).await?.next == Next::Now {}
    /// let total = db.get("total", "orders").await?.expect("the handler has made it");
    /// assert_eq!(total.get("orders"), Some(&Value::from(1)));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    #[must_use]
    pub fn event_with<F>(
        mut self,
        name: &str,
        handler: impl Fn(Event, Db) -> F + Send + Sync + 'static,
    ) -> Handlers
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let handler = Arc::new(move |event, db| Box::pin(handler(event, db)) as PendingOutcome);
        self.events.insert(name.to_owned(), EventHandler::Reading(handler));
        self
    }

    /// Registers a handler for jobs of a kind. It can read from the database of the job's tenant.
    /// It may run more than once for a job; its effects happen once.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::events::{Effects, Handlers, Job, Next};
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # let model = "jobs = true\n[entity.order]";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let handlers = Handlers::new().job("greet", |job, _db| async move {
    ///     Ok(Effects::new().result(format!("Hello from {}.", job.id())))
    /// });
    /// db.schedule(Job::new("greet").id("one")).await?;
    /// while db.work(&handlers).await?.next == Next::Now {}
    /// let job = db.get("job", "one").await?.expect("it is kept for a week");
    /// assert_eq!(job.get("result"), Some(&Value::from("Hello from one.")));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    #[must_use]
    pub fn job<F>(
        mut self,
        kind: &str,
        handler: impl Fn(Record, Db) -> F + Send + Sync + 'static,
    ) -> Handlers
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let handler = Arc::new(move |job, db| Box::pin(handler(job, db)) as PendingOutcome);
        self.jobs.insert(kind.to_owned(), handler);
        self
    }

    /// Sets what posts events to the webhooks that the model names.
    ///
    /// [`Deliver`] has an example.
    #[must_use]
    pub fn webhooks(mut self, deliver: Arc<dyn Deliver>) -> Handlers {
        self.deliver = Some(deliver);
        self
    }

    /// Leaves what the model names and this program has not registered to another program. Without
    /// this, it is an error. Events wait for that program as long as the feed keeps them, jobs
    /// until it runs them.
    ///
    /// [`Handlers::check`] has an example.
    #[must_use]
    pub fn leave_others(mut self) -> Handlers {
        self.is_partial = true;
        self
    }

    /// Sets the retry policy of the handler of this name, or of jobs of this kind.
    ///
    /// [`Retry`] has an example.
    #[must_use]
    pub fn retry(mut self, name: &str, retry: Retry) -> Handlers {
        self.retries.insert(name.to_owned(), retry);
        self
    }

    /// Checks that everything that the model calls is registered, unless the rest is left to other
    /// programs ([`Handlers::leave_others`]).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Error, events::Effects, events::Handlers};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # let model = "[entity.task]\nfields.name = \"text\"\n[on.task]\ninsert = \"greet\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// // The model calls `greet`.
    /// assert!(matches!(Handlers::new().check(&db), Err(Error::Unknown { .. })));
    /// Handlers::new().event("greet", |_| Ok(Effects::new())).check(&db)?;
    /// // Another program handles it.
    /// Handlers::new().leave_others().check(&db)?;
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] with the first name that is not.
    pub fn check(&self, db: &Db) -> Result<(), Error> {
        self.check_model(db.shared.schema().model())
    }

    /// Like [`Handlers::check`], which has an example, for a model that no database need have yet: before it is changed.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] with the first name that is not.
    pub fn check_model(&self, model: &Model) -> Result<(), Error> {
        let consumers = Consumer::all(model);
        let lacks = |consumer: &&Consumer| !self.is_partial && !self.has(&consumer.target);
        let Some(consumer) = consumers.iter().find(lacks) else { return Ok(()) };
        Err(match &consumer.target {
            Target::Handler(name) => {
                let what = format!("The model calls `{name}`, and no handler has this name");
                unknown(what, name, self.events.keys().map(String::as_str))
            }
            Target::Job(kind) => {
                let what = format!("The model schedules jobs `{kind}`, and nothing runs them");
                unknown(what, kind, self.jobs.keys().map(String::as_str))
            }
            Target::Webhook(address) => Error::Unknown {
                what: format!("The model calls the webhook `{address}`, and nothing delivers it"),
                help: Some("register a sender with `Handlers::webhooks`".to_owned()),
            },
        })
    }

    pub(crate) fn find_event(&self, name: &str) -> Option<EventHandler> {
        self.events.get(name).cloned()
    }

    pub(crate) fn find_job(&self, kind: &str) -> Option<JobHandler> {
        self.jobs.get(kind).cloned()
    }

    /// Whether this program can do what a model names.
    pub(crate) fn has(&self, target: &Target) -> bool {
        match target {
            Target::Handler(name) => self.events.contains_key(name),
            Target::Job(kind) => self.jobs.contains_key(kind),
            Target::Webhook(_) => self.deliver.is_some(),
        }
    }

    /// Whether this program runs a job. It also runs one that no program can, to record the error.
    pub(crate) fn runs(&self, model: &Model, job: &Record) -> bool {
        let kind = job.get("kind").and_then(Value::as_s).unwrap_or_default();
        !self.is_partial
            || self.jobs.contains_key(kind)
            || match kind.strip_prefix(EVENT_KIND) {
                None => kind == WEBHOOK && self.deliver.is_some(),
                Some(name) => {
                    Consumer::find(model, name).is_none_or(|consumer| self.has(&consumer.target))
                }
            }
    }

    pub(crate) fn retry_of(&self, name: &str) -> Retry {
        self.retries.get(name).copied().unwrap_or_default()
    }
}

impl EventHandler {
    pub(crate) async fn call(&self, event: &Event, db: Db) -> Outcome {
        match self {
            EventHandler::Plain(handler) => guarded(async { handler(event) }).await,
            EventHandler::Reading(handler) => {
                guarded(async { handler(event.clone(), db).await }).await
            }
        }
    }
}

/// Converts a panic of a handler into a failure.
pub(crate) async fn guarded<T>(
    outcome: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut outcome = pin!(outcome);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| outcome.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(Failure::new("The handler panicked."))))
    })
    .await
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("events", &self.events.keys())
            .field("jobs", &self.jobs.keys())
            .finish_non_exhaustive()
    }
}
