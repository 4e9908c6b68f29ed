//! Idempotency records: which changes were applied under a key, and their result. Written in the same
//! transaction as the changes, so a record exists if and only if they were applied.
//!
//! ```text
//! ("m", "receipt", hash of tenant and key) / 0   fingerprint, answers, when it expires
//! ```

use keyloom_model::attribute::{EXPIRY, PARTITION};
use keyloom_model::{EntityKey, Image, RowKey};
use keyloom_store::{Get, Put, TransactAction};
use keyloom_value::{Comparison, Condition, Item, Number, Path, Value};

use super::{Intent, PlannedAction, WriteContext};
use crate::error::Error;

/// How long a record is valid.
const KEPT_SECS: i64 = 24 * 60 * 60;
/// The limit of a row, with room for its key.
const RECORD_BYTES_MAX: usize = 399 * 1024;

const NAME: &str = "receipt";
const FINGERPRINT: &str = "fingerprint";
const ANSWERS: &str = "answers";
const ID: &str = "id";
const VERSION: &str = "version";
const FIELDS: &str = "fields";

/// An idempotency key with the changes that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct IdempotencyKey {
    /// The key as the caller gave it.
    pub(crate) name: String,
    /// The hash of tenant and key: where the record is.
    pub(crate) place: [u8; 32],
    /// The hash of the changes.
    pub(crate) fingerprint: [u8; 32],
}

/// A record that was read.
#[derive(Debug)]
pub(crate) struct IdempotencyRecord {
    fingerprint: Vec<u8>,
    /// The entity after each change.
    answers: Vec<Option<Answer>>,
    expiry_secs: i64,
}

/// An entity without kind and tenant, which are those of its change.
#[derive(Debug)]
struct Answer {
    id: String,
    version: String,
    fields: Item,
}

/// The result of idempotent changes.
#[derive(Debug)]
pub(crate) enum Done {
    Now(Vec<Option<Image>>),
    Before(Vec<Option<Image>>),
}

impl IdempotencyKey {
    /// Returns the result of an earlier request with this key. One read.
    pub(crate) async fn look_up(
        &self,
        ctx: &WriteContext<'_>,
        intents: &[Intent],
    ) -> Result<Option<Vec<Option<Image>>>, Error> {
        let Some(record) = self.find(ctx).await? else { return Ok(None) };
        if record.answers.len() != intents.len() {
            return Err(self.damaged());
        }
        let keys = intents.iter().map(Intent::key);
        let answers = record.answers.into_iter().zip(keys);
        Ok(Some(answers.map(|(answer, key)| Some(answer?.image(key))).collect()))
    }

    /// Returns the id in the result of an earlier request with this key. One read.
    pub(crate) async fn look_up_id(&self, ctx: &WriteContext<'_>) -> Result<Option<String>, Error> {
        let Some(record) = self.find(ctx).await? else { return Ok(None) };
        let answer = record.answers.into_iter().next().flatten();
        answer.map(|answer| Some(answer.id)).ok_or_else(|| self.damaged())
    }

    /// Reads the record, if there is one for the same changes.
    async fn find(&self, ctx: &WriteContext<'_>) -> Result<Option<IdempotencyRecord>, Error> {
        let get = Get::new(ctx.table, self.row_key().to_item());
        let Some(row) = ctx.store.get(get).await? else { return Ok(None) };
        let record = IdempotencyRecord::read(&row).ok_or_else(|| self.damaged())?;
        if record.expiry_secs < now_secs(ctx) {
            return Ok(None);
        }
        if record.fingerprint != self.fingerprint {
            return Err(Error::KeyReused { key: self.name.clone() });
        }
        Ok(Some(record))
    }

    fn damaged(&self) -> Error {
        let key = &self.name;
        Error::damaged(format!("The idempotency record of the key `{key}` cannot be read."))
    }

    /// Returns the action that writes the record, on condition that none exists.
    ///
    /// # Errors
    ///
    /// If the result does not fit into a row.
    pub(crate) fn record(
        &self,
        ctx: &WriteContext<'_>,
        answers: &[Option<&Image>],
    ) -> Result<PlannedAction, Error> {
        let now_secs = now_secs(ctx);
        let mut item = self.row_key().to_item();
        item.insert(FINGERPRINT, self.fingerprint.to_vec());
        item.insert(ANSWERS, Value::L(answers.iter().copied().map(answer).collect()));
        item.insert(EXPIRY, now_secs.saturating_add(KEPT_SECS));
        let (bytes, bytes_max) = (item.size(), RECORD_BYTES_MAX);
        if bytes > bytes_max {
            return Err(Error::AnswerTooLarge { bytes, bytes_max });
        }
        let now_secs = Value::from(now_secs);
        let is_over = Condition::compare(Path::from(EXPIRY), Comparison::Less, now_secs);
        let put = Put::new(ctx.table, item).when(Condition::missing(PARTITION).or(is_over));
        Ok(PlannedAction::piggybacked(TransactAction::Put(put)))
    }

    fn row_key(&self) -> RowKey {
        RowKey::system_alone(NAME, &self.place)
    }
}

fn now_secs(ctx: &WriteContext<'_>) -> i64 {
    ctx.now_ms.div_euclid(1000)
}

impl IdempotencyRecord {
    /// Whether a system row is an idempotency record.
    pub(crate) fn is_at(partition: &[u8]) -> bool {
        partition.starts_with(RowKey::system(NAME, &[]).partition.as_bytes())
    }

    pub(crate) fn read(row: &Item) -> Option<IdempotencyRecord> {
        let Value::L(answers) = row.get(ANSWERS)? else { return None };
        Some(IdempotencyRecord {
            fingerprint: row.get(FINGERPRINT)?.as_b()?.to_vec(),
            answers: answers.iter().map(Answer::read).collect::<Option<_>>()?,
            expiry_secs: row.get(EXPIRY)?.as_n().and_then(Number::to_i64)?,
        })
    }
}

impl Answer {
    /// The inner option is none if the entity was deleted.
    fn read(value: &Value) -> Option<Option<Answer>> {
        let item = match value {
            Value::Null => return Some(None),
            Value::M(item) => item,
            _ => return None,
        };
        let text = |name| Some(item.get(name)?.as_s()?.to_owned());
        let Value::M(fields) = item.get(FIELDS)? else { return None };
        Some(Some(Answer { id: text(ID)?, version: text(VERSION)?, fields: fields.clone() }))
    }

    /// Restores the entity. Kind and tenant are those of the change.
    fn image(self, key: &EntityKey) -> Image {
        let key = EntityKey { id: self.id, ..key.clone() };
        // Records do not expose the ordinal.
        Image { key, version: self.version, fields: self.fields, ordinal: None }
    }
}

fn answer(image: Option<&Image>) -> Value {
    let Some(image) = image else { return Value::Null };
    Value::M(Item::from([
        (ID, Value::from(image.key.id.as_str())),
        (VERSION, Value::from(image.version.as_str())),
        (FIELDS, Value::M(image.fields.clone())),
    ]))
}
