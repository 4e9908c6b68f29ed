//! The ends of searches that people bring about: an answer, a cancellation. Each is one conditional
//! write; whoever comes second is told what has become of the search.

use keyloom::{Change, Db, Error, Record};
use serde_json::{Value as Json, json};

use crate::rows::{Search, Status, read};

/// How often an end is tried while the hunt goes on beside it.
const ATTEMPTS_MAX: usize = 32;

/// How a search ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Somebody answered.
    Answered {
        /// Who, in a word: a name, or the way it was answered.
        by: String,
        /// The attempt that was answered, if it was one.
        attempt: Option<String>,
        /// What was said.
        note: Option<String>,
    },
    /// Somebody called it off.
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
    /// There is none.
    Gone,
    /// It had ended before, like this.
    Already(Status),
    /// The database could not.
    Failed(Error),
}

impl From<Error> for NotEnded {
    fn from(error: Error) -> NotEnded {
        NotEnded::Failed(error)
    }
}

/// Ends a search that is active. Of several ends at the same moment exactly one happens.
///
/// # Errors
///
/// If it is not there, or not active any more.
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
            // The hunt took a step, or somebody else was faster: look again.
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
