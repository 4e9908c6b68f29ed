//! Webhooks: jobs of a kind of their own that post an event to an address. How something is posted
//! is not said here.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom_value::{Item, Value};

use super::handlers::{Effects, Failure};
use super::{Event, Job};
use crate::record::Record;

/// The kind of jobs that post.
pub(crate) const WEBHOOK: &str = "webhook";

const ADDRESS: &str = "address";
const KEY: &str = "key";
const BODY: &str = "body";

/// Something to be posted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// Where to.
    pub address: String,
    /// The same for every attempt: whoever has seen it before does nothing.
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
        (KEY, Value::from(format!("{consumer}@{}", event.position))),
        (BODY, Value::from(event.to_json())),
    ]);
    Job::new(WEBHOOK).payload_value(payload)
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
