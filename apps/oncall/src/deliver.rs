//! The job that delivers an attempt: at least once, and no longer once the search has ended.

use keyloom::events::{Effects, Failure};
use keyloom::{Change, Db, Record};
use serde_json::json;

use crate::jobs::{Delivery, Payload, UNSENT};
use crate::link;
use crate::message::compose;
use crate::rows::{Attempt, Search, Status, read};
use crate::service::Service;
use crate::transport::Message;

/// What to do with an attempt.
enum Prepared {
    Send(Box<Message>),
    Nothing(Effects),
}

pub(crate) async fn deliver(service: &Service, job: Record, db: Db) -> Result<Effects, Failure> {
    let prepared = prepare(service, &job, &db).await;
    let unsent = |failure: Failure| Failure::new(format!("{UNSENT}{failure}"));
    let message = match prepared.map_err(unsent)? {
        Prepared::Send(message) => *message,
        Prepared::Nothing(effects) => return Ok(effects),
    };
    let attempt = message.key.clone();
    let accepted = service.transport.send(message).await?;
    let patch = json!({ "status": "delivered", "delivered": service.now_ms(),
                        "reference": accepted.reference.map(truncated) });
    Ok(Effects::new().change(Change::update("attempt", &attempt, &patch)?).result("Delivered."))
}

async fn prepare(service: &Service, job: &Record, db: &Db) -> Result<Prepared, Failure> {
    let Payload { payload: delivery } = job.to::<Payload<Delivery>>()?;
    let gone = || Ok(Prepared::Nothing(Effects::new().result("The search was deleted.")));
    let Some((attempt, _)) = read::<Attempt>(db, "attempt", &delivery.attempt).await? else {
        return gone();
    };
    let Some((search, _)) = read::<Search>(db, "search", &delivery.search).await? else {
        return gone();
    };
    if search.status != Status::Active {
        return Ok(Prepared::Nothing(dropped(&attempt)?));
    }
    let token = link::create(service, db, (&search, Some(&attempt.id))).await?;
    // Checked again just before sending: the search may have ended while the link was written.
    let Some((search, record)) = read::<Search>(db, "search", &delivery.search).await? else {
        return gone();
    };
    if search.status != Status::Active {
        return Ok(Prepared::Nothing(dropped(&attempt)?));
    }
    let subject = record.get("subject");
    let message = compose(service, (&search, subject), &attempt, &token)?;
    Ok(Prepared::Send(Box::new(message)))
}

fn dropped(attempt: &Attempt) -> Result<Effects, Failure> {
    let patch = json!({ "status": "dropped" });
    let change = Change::update("attempt", &attempt.id, &patch)?;
    Ok(Effects::new().change(change).result("The search had ended."))
}

/// As much of a reference as is stored.
fn truncated(reference: String) -> String {
    reference.chars().take(500).collect()
}
