//! Overflow rows: a text that is too long for the row of its job is stored in rows beside it.
//!
//! ```text
//! ("m", "overflow", id of the job and number of the row) / 0   some bytes of the text
//! ```
//!
//! Both images of an event can be larger than a row, and the feed forgets events long before the last
//! attempt of a job. The rows are written in the transaction that creates the job, and removed in the
//! one that completes or deletes it. No other change of the job touches them, so retries do not copy
//! the text. The job stores their number.

use keyloom_model::RowKey;
use keyloom_model::attribute::{EXPIRY, PARTITION};
use keyloom_store::{Delete, Get, Put, TableName, TransactAction, UpdateItem};
use keyloom_value::{Condition, Item, Number, Path, Update, Value};

use super::failure::Failure;
use super::job::{JOB, Status, require_jobs};
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;
use crate::shared::Shared;
use crate::write::PlannedAction;

/// The field of a job that counts its overflow rows.
pub(crate) const OVERFLOW: &str = "overflow";
/// The entry of a payload that can overflow; a payload that is a text can as a whole.
pub(crate) const BODY: &str = "body";

const NAME: &str = "overflow";
const BYTES: &str = "bytes";
/// How much of a text fits into the row of its job, which every attempt rewrites.
const INLINE_BYTES_MAX: usize = 32 * 1024;
/// How much fits into one overflow row.
const ROW_BYTES_MAX: usize = 256 * 1024;
/// How many rows one transaction can write.
const ROWS_MAX: usize = 4 * 1024 * 1024 / ROW_BYTES_MAX;
/// How much longer than a canceled job its rows are kept.
const SLACK_SECS: i64 = 24 * 60 * 60;

/// A payload as it is stored: what is in the row of the job, and the text beside it.
pub(crate) struct StoredPayload {
    inline: Option<Value>,
    overflow: Option<String>,
}

impl StoredPayload {
    /// Splits off a text that is too long for the row of a job.
    pub(crate) fn of(payload: Option<Value>) -> StoredPayload {
        let inline = |payload| StoredPayload { inline: payload, overflow: None };
        match payload {
            Some(Value::S(text)) if text.len() > INLINE_BYTES_MAX => {
                StoredPayload { inline: None, overflow: Some(text) }
            }
            Some(Value::M(mut payload)) => match payload.remove(BODY) {
                Some(Value::S(text)) if text.len() > INLINE_BYTES_MAX => {
                    StoredPayload { inline: Some(Value::M(payload)), overflow: Some(text) }
                }
                Some(body) => {
                    payload.insert(BODY, body);
                    inline(Some(Value::M(payload)))
                }
                None => inline(Some(Value::M(payload))),
            },
            payload => inline(payload),
        }
    }

    /// Returns the overflow rows of a job with this id, to be written in its transaction.
    pub(crate) fn rows(&self, table: &TableName, id: &str) -> Vec<PlannedAction> {
        let text = self.overflow.as_deref().unwrap_or_default();
        let row = |(number, bytes): (usize, &[u8])| {
            let mut item = key(id, number);
            item.insert(BYTES, bytes.to_vec());
            PlannedAction::piggybacked(TransactAction::Put(Put::new(table, item)))
        };
        text.as_bytes().chunks(ROW_BYTES_MAX).enumerate().map(row).collect()
    }

    /// Adds the fields of the job.
    pub(crate) fn insert_into(self, job: &mut Item) {
        if let Some(text) = self.overflow {
            let rows = text.len().div_ceil(ROW_BYTES_MAX);
            job.insert(OVERFLOW, i64::try_from(rows).unwrap_or(i64::MAX));
        }
        if let Some(payload) = self.inline {
            job.insert("payload", payload);
        }
    }
}

/// Undoes [`StoredPayload::of`].
fn join(payload: Option<Value>, text: String) -> Value {
    match payload {
        Some(Value::M(mut payload)) => {
            payload.insert(BODY, text);
            Value::M(payload)
        }
        Some(_) | None => Value::S(text),
    }
}

/// Whether a partition is that of an overflow row.
pub(crate) fn is_at(partition: &[u8]) -> bool {
    partition.starts_with(RowKey::system(NAME, &[]).partition.as_bytes())
}

/// Returns the content of an overflow row.
pub(crate) fn read(row: &Item) -> Option<&[u8]> {
    row.get(BYTES)?.as_b()
}

/// Returns what happens to the overflow rows of a job when the job changes. Those of a canceled job
/// are kept as long as it can be replayed, those of a dead letter as long as it exists.
pub(crate) fn on_update(table: &TableName, job: &Record, patch: &mut Item) -> Vec<PlannedAction> {
    let keys = keys(job);
    if keys.is_empty() {
        return vec![];
    }
    let becomes = |status: Status| {
        patch.get("status").and_then(Value::as_s) == Some(status.word())
            && Status::of(job) != status
    };
    if becomes(Status::Done) {
        patch.insert(OVERFLOW, Value::Null);
        return keys.into_iter().map(|key| removal(table, key)).collect();
    }
    let update = if becomes(Status::Canceled) {
        let expires = patch.get("expires").and_then(Value::as_n).and_then(Number::to_i64);
        let secs = expires.unwrap_or_default().div_euclid(1000).saturating_add(SLACK_SECS);
        Update::new().set(Path::from(EXPIRY), Value::from(secs))
    } else if Status::of(job) == Status::Canceled {
        Update::new().remove(Path::from(EXPIRY))
    } else {
        return vec![];
    };
    let updated = |key| {
        let update = UpdateItem::new(table, key, update.clone());
        PlannedAction::piggybacked(TransactAction::Update(
            update.when(Condition::exists(PARTITION)),
        ))
    };
    keys.into_iter().map(updated).collect()
}

/// Removes a row together with its job.
pub(crate) fn removal(table: &TableName, key: Item) -> PlannedAction {
    PlannedAction::piggybacked(TransactAction::Delete(Delete::new(table, key)))
}

fn key(job: &str, number: usize) -> Item {
    let number = u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
    RowKey::system_alone(NAME, &[job.as_bytes(), &number].concat()).to_item()
}

/// Returns the keys of the overflow rows of a job.
fn keys(job: &Record) -> Vec<Item> {
    let count = job.get(OVERFLOW).and_then(Value::as_n).and_then(Number::to_i64).unwrap_or(0);
    let count = usize::try_from(count).unwrap_or(0).min(ROWS_MAX);
    (0..count).map(|number| key(job.id(), number)).collect()
}

/// Returns the job with all of its payload.
pub(crate) async fn load(shared: &Shared, job: &Record) -> Result<Record, Failure> {
    let keys = keys(job);
    if keys.is_empty() {
        return Ok(job.clone());
    }
    let mut bytes = vec![];
    for key in keys {
        let row = shared.store.get(Get::new(&shared.table, key)).await?;
        let lost = || Failure::fatal("A part of the payload is missing or cannot be read.");
        bytes.extend_from_slice(row.as_ref().and_then(read).ok_or_else(lost)?);
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::fatal("The stored payload is damaged: it is not UTF-8."))?;
    let payload = join(job.get("payload").cloned(), text);
    Ok(job.with_field("payload", payload))
}

/// Returns the keys of the overflow rows of jobs that are to be deleted: only of those that exist,
/// because each takes a place in the transaction.
pub(crate) async fn keys_of_deleted(
    db: &Db,
    ids: impl Iterator<Item = &str>,
) -> Result<Vec<Item>, Error> {
    let mut found = vec![];
    for id in ids {
        if require_jobs(&db.shared).is_err() {
            continue;
        }
        let job = db.get(JOB, id).await?;
        for key in job.as_ref().map(keys).unwrap_or_default() {
            let get = Get::new(&db.shared.table, key.clone());
            found.extend(db.shared.store.get(get).await?.map(|_| key));
        }
    }
    Ok(found)
}
