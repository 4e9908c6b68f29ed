//! The job that delivers an attempt: at least once, and not any more when the search has ended.

use keyloom::events::{Effects, Failure};
use keyloom::{Change, Db, Record};
use serde_json::json;

use crate::link;
use crate::message::compose;
use crate::rows::{Attempt, Search, Status, read};
use crate::service::Service;
use crate::steps::{Carrying, Errand};

pub(crate) async fn deliver(service: &Service, job: Record, db: Db) -> Result<Effects, Failure> {
    let Carrying { payload: errand } = job.to::<Carrying<Errand>>()?;
    let Some((attempt, _)) = read::<Attempt>(&db, "attempt", &errand.attempt).await? else {
        return Ok(Effects::new().result("The search is gone."));
    };
    let Some((search, _)) = read::<Search>(&db, "search", &errand.search).await? else {
        return Ok(Effects::new().result("The search is gone."));
    };
    if search.status != Status::Active {
        return dropped(&attempt);
    }
    let token = link::make(service, &db, (&search, Some(&attempt.id))).await?;
    // Last of all before it is sent: it may have ended while the link was written.
    let Some((search, record)) = read::<Search>(&db, "search", &errand.search).await? else {
        return Ok(Effects::new().result("The search is gone."));
    };
    if search.status != Status::Active {
        return dropped(&attempt);
    }
    let subject = record.get("subject");
    let message = compose(service, (&search, subject), &attempt, &token)?;
    let carried = service.carry.carry(message).await?;
    let patch = json!({ "status": "delivered", "delivered": service.now_ms(),
                        "reference": carried.reference.map(short) });
    Ok(Effects::new().change(Change::update("attempt", &attempt.id, &patch)?).result("Delivered."))
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
