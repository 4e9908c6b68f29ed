//! Webhooks: what is posted to an address, and the jobs that post again what has failed. How it is
//! posted is up to the implementor of [`Deliver`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom_value::{Item, Value};

use super::effects::Effects;
use super::failure::Failure;
use super::overflow::BODY;
use super::{Event, Job};
use crate::pieces::Pieces;
use crate::record::Record;
use crate::stamp;

/// The kind of jobs that post.
pub(crate) const WEBHOOK: &str = "webhook";

const ADDRESS: &str = "address";
const KEY: &str = "key";

/// A request to post.
///
/// [`Deliver`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// The URL to post to.
    pub address: String,
    /// The same for every attempt and every replay, and for no other event of any database: a
    /// receiver that has seen it before ignores the request.
    pub key: String,
    /// The event, as [`Event::to_json`] writes it.
    pub body: String,
    /// The number of the attempt, from 1.
    pub attempt: i64,
}

/// Posts requests.
///
/// ```
/// # use std::sync::Arc;
/// # use std::pin::Pin;
/// # use keyloom::events::{Deliver, Delivery, Failure, Handlers};
/// # use keyloom::Db;
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.task]\nfields.name = \"text\"\n[on.task]\n\
/// #     insert = { webhook = \"https://example.com/tasks\" }";
/// # pollster::block_on(async {
/// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
/// /// Prints requests. A real one posts them.
/// #[derive(Debug)]
/// struct Print;
///
/// impl Deliver for Print {
///     fn deliver(
///         &self,
///         delivery: Delivery,
///     ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
///         Box::pin(async move {
///             println!("POST {}, key {}: {}", delivery.address, delivery.key, delivery.body);
///             Ok(())
///         })
///     }
/// }
///
/// let handlers = Handlers::new().webhooks(Arc::new(Print));
/// db.create("task", &json!({ "name": "cook" })).await?;
/// assert_eq!(db.work(&handlers).await?.events, 1);
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
pub trait Deliver: fmt::Debug + Send + Sync + 'static {
    /// Posts a request. It is delivered if this returns `Ok`, and retried otherwise. Implementations
    /// MUST give up after some time: later events of the same entity wait until then.
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>>;
}

impl Delivery {
    /// Returns the first delivery of an event to the webhook of a consumer.
    pub(crate) fn first(address: &str, consumer: &str, event: &Event) -> Delivery {
        Delivery {
            address: address.to_owned(),
            key: message_id(consumer, event),
            body: event.to_json(),
            attempt: 1,
        }
    }

    /// Returns the job that posts it.
    pub(crate) fn into_job(self) -> Job {
        let payload = Item::from([
            (ADDRESS, Value::from(self.address)),
            (KEY, Value::from(self.key)),
            (BODY, Value::from(self.body)),
        ]);
        Job::new(WEBHOOK).payload_value(payload)
    }

    /// Reads the delivery that a job stores.
    fn of_job(job: &Record) -> Option<Delivery> {
        let Some(Value::M(payload)) = job.get("payload") else { return None };
        let text = |name| payload.get(name).and_then(Value::as_s).map(str::to_owned);
        let attempts = job.get("attempts").and_then(Value::as_n).and_then(|n| n.to_i64());
        Some(Delivery {
            address: text(ADDRESS)?,
            key: text(KEY)?,
            body: text(BODY)?,
            attempt: attempts.unwrap_or(1),
        })
    }
}

/// Returns the message id of an event for the receiver of a consumer: `msg_` and 26 characters. It
/// depends on the event alone. No other event has it, in no other database and not after a restore:
/// there, positions and ids of entities can recur, but versions never do, and what was deleted,
/// restored and deleted again was deleted at another time.
fn message_id(consumer: &str, event: &Event) -> String {
    let mut pieces = Pieces::new();
    for piece in [consumer, event.stored.as_str(), event.id.as_str(), event.change.as_str()] {
        pieces.add(piece);
    }
    pieces.add_some(event.tenant.as_ref());
    for image in [&event.old, &event.new] {
        pieces.add_some(image.as_ref().map(Record::version));
    }
    pieces.add(&event.time_ms.to_string());
    let mut number = [0; 16];
    number.copy_from_slice(&pieces.hash()[..16]);
    format!("msg_{}", stamp::text(u128::from_be_bytes(number)))
}

/// Runs a job of the kind `webhook`.
pub(crate) async fn post(
    deliver: Option<Arc<dyn Deliver>>,
    job: &Record,
) -> Result<Effects, Failure> {
    let deliver = deliver.ok_or_else(|| Failure::new("This program delivers no webhooks."))?;
    let invalid = || Failure::fatal("The payload has no `address`, `key` and `body`.");
    deliver.deliver(Delivery::of_job(job).ok_or_else(invalid)?).await?;
    Ok(Effects::new())
}
