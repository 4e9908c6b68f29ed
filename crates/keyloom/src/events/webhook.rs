//! Webhooks: jobs of a kind of their own that post an event to an address. How something is posted
//! is not said here.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom_value::{Item, Value};

use super::handlers::{Effects, Failure};
use super::overflow::BODY;
use super::{Event, Job};
use crate::idempotent::Pieces;
use crate::record::Record;
use crate::stamp;

/// The kind of jobs that post.
pub(crate) const WEBHOOK: &str = "webhook";

const ADDRESS: &str = "address";
const KEY: &str = "key";

/// Something to be posted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// Where to.
    pub address: String,
    /// The same for every attempt and every replay, and of no other event of any database: whoever
    /// has seen it before does nothing.
    pub key: String,
    /// The event, as [`Event::to_json`] writes it.
    pub body: String,
    /// Which attempt it is, from 1.
    pub attempt: i64,
}

/// Posts things to addresses.
pub trait Deliver: fmt::Debug + Send + Sync + 'static {
    /// Posts it. It has come when this is `Ok`, and is tried again otherwise.
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>>;
}

/// The job that posts an event for a consumer.
pub(crate) fn posting(address: &str, consumer: &str, event: &Event) -> Job {
    let payload = Item::from([
        (ADDRESS, Value::from(address)),
        (KEY, Value::from(message_id(consumer, event))),
        (BODY, Value::from(event.to_json())),
    ]);
    Job::new(WEBHOOK).payload_value(payload)
}

/// The id of the message that an event is to a consumer's receiver: `msg_` and 26 characters. It is
/// the same whoever makes it. No other event has it, in no other database and not after a restore:
/// positions and ids of entities come again there, but versions never do, and what was deleted, restored
/// and deleted again was deleted at another time.
fn message_id(consumer: &str, event: &Event) -> String {
    let mut pieces = Pieces::new();
    for piece in [consumer, event.entity.as_str(), event.id.as_str(), event.change.as_str()] {
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

/// Runs such a job.
pub(crate) async fn post(
    deliver: Option<Arc<dyn Deliver>>,
    job: &Record,
) -> Result<Effects, Failure> {
    let deliver = deliver.ok_or_else(|| Failure::new("Nothing posts to webhooks here."))?;
    let Some(Value::M(payload)) = job.get("payload") else {
        return Err(Failure::fatal("The payload is not what a webhook needs."));
    };
    let text = |name| payload.get(name).and_then(Value::as_s).map(str::to_owned);
    let (Some(address), Some(key), Some(body)) = (text(ADDRESS), text(KEY), text(BODY)) else {
        return Err(Failure::fatal("The payload is not what a webhook needs."));
    };
    let attempt = job.get("attempts").and_then(Value::as_n).and_then(|n| n.to_i64());
    let attempt = attempt.unwrap_or(1);
    deliver.deliver(Delivery { address, key, body, attempt }).await?;
    Ok(Effects::new())
}
