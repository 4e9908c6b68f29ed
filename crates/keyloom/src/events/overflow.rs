//! Overflow rows: a text that is too long for the row of its job is stored in rows beside it.
//!
//! ```text
//! ("m", "overflow", id of the job and number of the row) / 0   some bytes of the text
//! ```
//!
//! Both images of an event can take more than a row holds, and the feed forgets events long before
//! the last attempt of a job. The rows are written with their job, in one transaction, and removed
//! with it; every other change of the job leaves them alone, so retries do not copy the text. The job
//! says how many there are.

use keyloom_model::RowKey;
use keyloom_model::attribute::{EXPIRY, PARTITION};
use keyloom_store::{Delete, Get, Put, TableName, TransactAction, UpdateItem};
use keyloom_value::{Condition, Item, Number, Path, Update, Value};

use super::handlers::Failure;
use super::job::{JOB, Status};
use crate::change::Change;
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;
use crate::write::PlannedAction;

/// The field of a job that counts its overflow rows.
pub(crate) const OVERFLOW: &str = "overflow";
/// The entry of a payload that can overflow; a payload that is a text can as a whole.
pub(crate) const BODY: &str = "body";

const NAME: &str = "overflow";
const BYTES: &str = "bytes";
/// As much of a text as is in the row of its job, which is written again with every attempt.
const INLINE_BYTES_MAX: usize = 32 * 1024;
/// As much as is in one overflow row.
const ROW_BYTES_MAX: usize = 256 * 1024;
/// As many rows as one transaction can write.
const ROWS_MAX: usize = 4 * 1024 * 1024 / ROW_BYTES_MAX;
/// How much longer than their job the rows of a canceled one are kept.
const SLACK_SECS: i64 = 24 * 60 * 60;

/// Takes a text out of a payload that is too long for the row of a job.
pub(crate) fn split(payload: Option<Value>) -> (Option<Value>, Option<String>) {
    match payload {
        Some(Value::S(text)) if text.len() > INLINE_BYTES_MAX => (None, Some(text)),
        Some(Value::M(mut payload)) => match payload.remove(BODY) {
            Some(Value::S(text)) if text.len() > INLINE_BYTES_MAX => {
                (Some(Value::M(payload)), Some(text))
            }
            Some(body) => {
                payload.insert(BODY, body);
                (Some(Value::M(payload)), None)
            }
            None => (Some(Value::M(payload)), None),
        },
        payload => (payload, None),
    }
}

/// Undoes [`split`].
fn join(payload: Option<Value>, text: String) -> Value {
    match payload {
        Some(Value::M(mut payload)) => {
            payload.insert(BODY, text);
            Value::M(payload)
        }
        Some(_) | None => Value::S(text),
    }
}

/// Whether a row of Keyloom's own is an overflow row.
pub(crate) fn is_at(partition: &[u8]) -> bool {
    partition.starts_with(RowKey::system(NAME, &[]).partition.as_bytes())
}

/// What an overflow row holds.
pub(crate) fn read(row: &Item) -> Option<&[u8]> {
    row.get(BYTES)?.as_b()
}

/// The rows of a text, to be written with its job.
pub(crate) fn rows(table: &TableName, job: &str, text: &str) -> Vec<PlannedAction> {
    let row = |(number, bytes): (usize, &[u8])| {
        let mut item = key(job, number);
        item.insert(BYTES, bytes.to_vec());
        PlannedAction::piggybacked(TransactAction::Put(Put::new(table, item)))
    };
    text.as_bytes().chunks(ROW_BYTES_MAX).enumerate().map(row).collect()
}

/// How many rows a text takes.
pub(crate) fn count(text: &str) -> i64 {
    i64::try_from(text.len().div_ceil(ROW_BYTES_MAX)).unwrap_or(i64::MAX)
}

/// What becomes of the rows of a job when the job changes. Those of a canceled job stay as long as
/// it can be replayed, those of a dead letter as long as it is there.
pub(crate) fn turn(table: &TableName, job: &Record, patch: &mut Item) -> Vec<PlannedAction> {
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

/// The keys of the rows that a job says it has.
fn keys(job: &Record) -> Vec<Item> {
    let count = job.get(OVERFLOW).and_then(Value::as_n).and_then(Number::to_i64).unwrap_or(0);
    let count = usize::try_from(count).unwrap_or(0).min(ROWS_MAX);
    (0..count).map(|number| key(job.id(), number)).collect()
}

impl Db {
    /// The job with all of its payload.
    pub(crate) async fn with_overflow(&self, job: &Record) -> Result<Record, Failure> {
        let keys = keys(job);
        if keys.is_empty() {
            return Ok(job.clone());
        }
        let mut bytes = vec![];
        for key in keys {
            let row = self.shared.store.get(Get::new(&self.shared.table, key)).await?;
            let lost = || Failure::fatal("A part of the payload is missing or cannot be read.");
            bytes.extend_from_slice(row.as_ref().and_then(read).ok_or_else(lost)?);
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::fatal("The payload is not what was stored."))?;
        let payload = join(job.get("payload").cloned(), text);
        Ok(job.with_field("payload", payload))
    }

    /// The keys of the overflow rows of jobs that changes delete: of those that are there, because
    /// every one takes a place in the transaction.
    pub(crate) async fn overflow_of_deleted(&self, changes: &[Change]) -> Result<Vec<Item>, Error> {
        let mut found = vec![];
        for change in changes.iter().filter(|change| change.is_deletion_of(JOB)) {
            let Some(id) = change.id().filter(|_| self.check_jobs().is_ok()) else { continue };
            let job = self.get(JOB, id).await?;
            for key in job.as_ref().map(keys).unwrap_or_default() {
                let get = Get::new(&self.shared.table, key.clone());
                found.extend(self.shared.store.get(get).await?.map(|_| key));
            }
        }
        Ok(found)
    }
}
