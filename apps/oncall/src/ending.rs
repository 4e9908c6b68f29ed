//! Ending a search by an answer or a cancellation. Each is one conditional write; the second of two gets
//! the status that the first has set.

use keyloom::{Change, Db, Error, Record};
use serde_json::{Value as Json, json};

use crate::rows::{Search, Status, read};

/// Attempts at an end while the hunt changes the search concurrently.
const ATTEMPTS_MAX: usize = 32;

/// How a search ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Somebody answered.
    Answered {
        /// A name, or the channel of the answer.
        by: String,
        /// The attempt that was answered, if any.
        attempt: Option<String>,
        /// A comment.
        note: Option<String>,
    },
    /// Somebody canceled it.
    Canceled {
        /// Who.
        by: String,
        /// Why.
        reason: Option<String>,
    },
}

/// Why a search was not ended.
#[derive(Debug)]
pub enum NotEnded {
    /// It does not exist.
    Gone,
    /// It had ended before, with this status.
    Already(Status),
    /// The database failed.
    Failed(Error),
}

impl From<Error> for NotEnded {
    fn from(error: Error) -> NotEnded {
        NotEnded::Failed(error)
    }
}

/// Ends an active search. Of several concurrent calls exactly one succeeds.
///
/// # Errors
///
/// If the search does not exist or is no longer active.
pub async fn end(db: &Db, search: &str, ending: &Ending, now_ms: i64) -> Result<Record, NotEnded> {
    for _ in 0..ATTEMPTS_MAX {
        let found = read::<Search>(db, "search", search).await?;
        let (found, _) = found.ok_or(NotEnded::Gone)?;
        if found.status != Status::Active {
            return Err(NotEnded::Already(found.status));
        }
        match db.transact(changes(&found, ending, now_ms)?).await {
            Ok(records) => {
                return records.into_iter().next().flatten().ok_or(NotEnded::Gone);
            }
            // Lost a race with a step or another end: read again.
            Err(Error::VersionMismatch { .. } | Error::Contended) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(NotEnded::Failed(Error::Contended))
}

fn changes(search: &Search, ending: &Ending, now_ms: i64) -> Result<Vec<Change>, Error> {
    let (status, resolution) = match ending {
        Ending::Answered { by, attempt, note } => {
            (Status::Successful, json!({ "by": by, "attempt": attempt, "note": note }))
        }
        Ending::Canceled { by, reason } => {
            (Status::Canceled, json!({ "by": by, "reason": reason }))
        }
    };
    let resolution = without_nulls(resolution);
    let patch = json!({ "status": status.word(), "ended": now_ms, "resolution": resolution });
    let of_search = Change::update("search", &search.id, &patch)?.expecting(&search.version);
    let mut changes = vec![of_search];
    if let Ending::Answered { by, attempt: Some(attempt), note } = ending {
        let answer = without_nulls(json!({ "by": by, "note": note, "time_ms": now_ms }));
        changes.push(Change::update("attempt", attempt, &json!({ "answer": answer }))?);
    }
    Ok(changes)
}

fn without_nulls(mut object: Json) -> Json {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    object
}
