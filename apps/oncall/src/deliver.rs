//! The job that delivers an attempt: at least once, and not any more when the search has ended.

use keyloom::events::{Effects, Failure};
use keyloom::{Change, Db, Record};
use serde_json::json;

use crate::carry::Message;
use crate::link;
use crate::message::compose;
use crate::rows::{Attempt, Search, Status, read};
use crate::service::Service;
use crate::steps::{Carrying, Errand};

/// How an error begins that kept a message from being sent. Its receiver had no chance to take it.
const UNSENT: &str = "Not sent: ";

/// Whether a delivery that failed like this has met the receiver.
pub(crate) fn has_met_receiver(error: &str) -> bool {
    !error.is_empty() && !error.starts_with(UNSENT)
}

/// What to do for an attempt.
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
    let carried = service.carry.carry(message).await?;
    let patch = json!({ "status": "delivered", "delivered": service.now_ms(),
                        "reference": carried.reference.map(short) });
    Ok(Effects::new().change(Change::update("attempt", &attempt, &patch)?).result("Delivered."))
}

async fn prepare(service: &Service, job: &Record, db: &Db) -> Result<Prepared, Failure> {
    let Carrying { payload: errand } = job.to::<Carrying<Errand>>()?;
    let gone = || Ok(Prepared::Nothing(Effects::new().result("The search is gone.")));
    let Some((attempt, _)) = read::<Attempt>(db, "attempt", &errand.attempt).await? else {
        return gone();
    };
    let Some((search, _)) = read::<Search>(db, "search", &errand.search).await? else {
        return gone();
    };
    if search.status != Status::Active {
        return Ok(Prepared::Nothing(dropped(&attempt)?));
    }
    let token = link::make(service, db, (&search, Some(&attempt.id))).await?;
    // Last of all before it is sent: it may have ended while the link was written.
    let Some((search, record)) = read::<Search>(db, "search", &errand.search).await? else {
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

/// As much as is kept.
fn short(reference: String) -> String {
    reference.chars().take(500).collect()
}
