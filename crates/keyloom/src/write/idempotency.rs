//! Receipts: that changes have happened under a key, and what was answered. Written in the same
//! transaction as the changes, so there is one if and only if they happened.
//!
//! ```text
//! ("m", "receipt", hash of tenant and key) / 0   fingerprint, answers, when it expires
//! ```

use keyloom_model::attribute::{EXPIRY, PARTITION};
use keyloom_model::{EntityKey, Image, RowKey};
use keyloom_store::{Get, Put, TransactAction};
use keyloom_value::{Comparison, Condition, Item, Number, Path, Value};

use super::execute::AttemptState;
use super::plan::PlannedAction;
use super::{Intent, WriteContext};
use crate::error::Error;

/// How long a receipt counts.
const KEPT_SECS: i64 = 24 * 60 * 60;
/// As large as a row can be, with room for its key.
const RECEIPT_BYTES_MAX: usize = 399 * 1024;

const NAME: &str = "receipt";
const FINGERPRINT: &str = "fingerprint";
const ANSWERS: &str = "answers";
const ID: &str = "id";
const VERSION: &str = "version";
const FIELDS: &str = "fields";

/// What a caller shows so that changes happen once.
#[derive(Clone, Debug)]
pub(crate) struct IdempotencyKey {
    /// The key as the caller gave it.
    pub(crate) name: String,
    /// Of tenant and key: where the receipt is.
    pub(crate) place: [u8; 32],
    /// Of the changes.
    pub(crate) fingerprint: [u8; 32],
}

/// A receipt, read.
#[derive(Debug)]
pub(crate) struct IdempotencyRecord {
    fingerprint: Vec<u8>,
    /// For each change what the entity was afterwards.
    answers: Vec<Option<Answer>>,
    expiry_secs: i64,
}

/// An entity, but for what is said by the change that it answers.
#[derive(Debug)]
struct Answer {
    id: String,
    version: String,
    fields: Item,
}

/// What came of changes that happen once.
#[derive(Debug)]
pub(crate) enum Done {
    Now(Vec<Option<Image>>),
    Before(Vec<Option<Image>>),
}

impl WriteContext<'_> {
    /// Makes all intents happen together, unless they have under the same ticket.
    pub(crate) async fn execute_once(
        &self,
        intents: &[Intent],
        ticket: IdempotencyKey,
    ) -> Result<Done, Error> {
        if let Some(images) = self.redeem(intents, &ticket).await? {
            return Ok(Done::Before(images));
        }
        let attempt = AttemptState { ticket: Some(ticket.clone()), ..AttemptState::default() };
        match self.execute_with(intents, attempt).await {
            Ok(executed) => Ok(Done::Now(executed.into_iter().map(|done| done.after).collect())),
            // What stands in the way may be that they have happened meanwhile.
            Err(error) => match self.redeem(intents, &ticket).await? {
                Some(images) => Ok(Done::Before(images)),
                None => Err(error),
            },
        }
    }

    /// What was answered to the ticket before, if it was. One read.
    async fn redeem(
        &self,
        intents: &[Intent],
        ticket: &IdempotencyKey,
    ) -> Result<Option<Vec<Option<Image>>>, Error> {
        let get = Get::new(self.table, ticket.row_key().to_item());
        let Some(row) = self.store.get(get).await? else { return Ok(None) };
        let damaged =
            || Error::damaged(format!("The receipt of the key `{}` cannot be read.", ticket.name));
        let receipt = IdempotencyRecord::read(&row).ok_or_else(damaged)?;
        if receipt.expiry_secs < self.now_secs() {
            return Ok(None);
        }
        if receipt.fingerprint != ticket.fingerprint {
            return Err(Error::KeyReused { key: ticket.name.clone() });
        }
        if receipt.answers.len() != intents.len() {
            return Err(damaged());
        }
        let keys = intents.iter().map(Intent::key);
        let answers = receipt.answers.into_iter().zip(keys);
        Ok(Some(answers.map(|(answer, key)| Some(answer?.image(key))).collect()))
    }

    /// Writes the receipt of a ticket, if there is one, unless one is there.
    ///
    /// # Errors
    ///
    /// If the answers are larger than a row can be.
    pub(crate) fn receipt_of(
        &self,
        ticket: Option<&IdempotencyKey>,
        answers: &[Option<&Image>],
    ) -> Result<Option<PlannedAction>, Error> {
        let Some(ticket) = ticket else { return Ok(None) };
        let mut item = ticket.row_key().to_item();
        item.insert(FINGERPRINT, ticket.fingerprint.to_vec());
        item.insert(ANSWERS, Value::L(answers.iter().copied().map(answer).collect()));
        item.insert(EXPIRY, self.now_secs().saturating_add(KEPT_SECS));
        let (bytes, bytes_max) = (item.size(), RECEIPT_BYTES_MAX);
        if bytes > bytes_max {
            return Err(Error::AnswerTooLarge { bytes, bytes_max });
        }
        let now_secs = Value::from(self.now_secs());
        let is_over = Condition::compare(Path::from(EXPIRY), Comparison::Less, now_secs);
        let put = Put::new(self.table, item).when(Condition::missing(PARTITION).or(is_over));
        Ok(Some(PlannedAction::piggybacked(TransactAction::Put(put))))
    }

    fn now_secs(&self) -> i64 {
        self.now_ms.div_euclid(1000)
    }
}

impl IdempotencyKey {
    fn row_key(&self) -> RowKey {
        RowKey::system_alone(NAME, &self.place)
    }
}

impl IdempotencyRecord {
    /// Whether a row of Keyloom's own is one.
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
    /// None in the inner option for an entity that was deleted.
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

    /// The entity that a change answered with. Kind and tenant are those of the change.
    fn image(self, key: &EntityKey) -> Image {
        let key = EntityKey { id: self.id, ..key.clone() };
        // Answers do not show its number.
        Image { key, version: self.version, fields: self.fields, number: None }
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
