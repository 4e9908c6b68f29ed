//! The head of the stored models: which model is in force, under which epoch writes are decided, and
//! which models were in force before.

use keyloom_model::RowKey;
use keyloom_model::attribute::PARTITION;
use keyloom_store::{Check, Get, OnFailure, Put, Store, TableName, TransactAction};
use keyloom_value::{Condition, Item, Number, Path, Value};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// The partition of all stored models.
pub(super) const MODEL: &str = "model";
/// The sort key of the head.
pub(super) const HEAD: &str = "head";
/// The sort key of the record of an unfinished copy.
pub(super) const COPY: &str = "copy";
const REVISION: &str = "revision";
const EDIT: &str = "edit";
const EPOCH: &str = "epoch";
const FENCED: &str = "fenced";
const FORMER: &str = "former";
const SECRET: &str = "secret";

/// How many earlier models a table remembers.
const FORMER_MAX: usize = 256;
/// The length of a fingerprint.
const FINGERPRINT_BYTES: usize = 16;

/// The model in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The current revision.
    pub(crate) revision: u32,
    /// Changes with every change of the model, even if that needs no new revision.
    pub(crate) edit: u32,
    /// Changes with every change of the model: writes are decided under one epoch (`write/fence.rs`).
    /// 0 in tables from before there were epochs.
    pub(crate) epoch: u32,
    /// The last epoch before which no write can be applied any more.
    pub(crate) fenced: u32,
    /// Fingerprints of the models that were in force before, the oldest first.
    pub(crate) former: Vec<Fingerprint>,
    /// The secret of cursors.
    pub(crate) secret: [u8; 32],
}

/// Identifies the text of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; FINGERPRINT_BYTES]);

/// The texts of two models, one of which replaces the other.
#[derive(Clone, Copy)]
pub(crate) struct ModelChange<'t> {
    pub(crate) before: &'t str,
    pub(crate) after: &'t str,
}

impl Head {
    /// Reads the head alone; returns none if there is none that this version can read.
    pub(crate) async fn load(store: &dyn Store, table: &TableName) -> Result<Option<Head>, Error> {
        let row = store.get(Get::new(table, head_key().to_item())).await?;
        Ok(row.as_ref().and_then(Head::read))
    }

    /// The head of a new table.
    pub(crate) fn first(secret: [u8; 32]) -> Head {
        Head { revision: 1, edit: 1, epoch: 1, fenced: 1, former: vec![], secret }
    }

    /// The head after a change of the model: writes under the model before are of an earlier epoch.
    pub(crate) fn changed(&self, revision: u32, texts: ModelChange<'_>) -> Head {
        let (old, new) = (Fingerprint::of(texts.before), Fingerprint::of(texts.after));
        let mut former = self.former.clone();
        former.retain(|model| *model != old && *model != new);
        if old != new {
            former.push(old);
        }
        former.drain(..former.len().saturating_sub(FORMER_MAX));
        let (edit, epoch) = (self.edit + 1, self.epoch + 1);
        Head { revision, edit, epoch, former, ..self.clone() }
    }

    /// Whether a model was in force before, and was replaced.
    pub(crate) fn has_replaced(&self, text: &str) -> bool {
        self.former.contains(&Fingerprint::of(text))
    }

    /// Whether writes of earlier epochs may still be applied.
    pub(crate) fn is_switching(&self) -> bool {
        self.fenced != self.epoch
    }

    /// Checks that writes of an epoch may be applied, and those of no earlier one.
    pub(crate) fn check_epoch(table: &TableName, epoch: u32) -> TransactAction {
        let is_at = |name| Condition::equal(Path::from(name), Value::from(u64::from(epoch)));
        let condition = match epoch {
            0 => Condition::missing(EPOCH),
            _ => is_at(EPOCH).and(is_at(FENCED)),
        };
        let (table, key) = (table.clone(), head_key().to_item());
        TransactAction::Check(Check { table, key, condition, on_failure: OnFailure::Nothing })
    }

    pub(super) fn read(row: &Item) -> Option<Head> {
        // Versions that wrote none of these had no epochs.
        let epoch = |name: &str| row.get(name).map_or(Some(0), number);
        Some(Head {
            revision: number(row.get(REVISION)?)?,
            edit: number(row.get(EDIT)?)?,
            epoch: epoch(EPOCH)?,
            fenced: epoch(FENCED)?,
            former: match row.get(FORMER) {
                None => vec![],
                Some(Value::L(all)) => all.iter().map(Fingerprint::read).collect::<Option<_>>()?,
                Some(_) => return None,
            },
            secret: row.get(SECRET)?.as_b()?.try_into().ok()?,
        })
    }

    /// Writes it, if it is unchanged since it was read.
    pub(super) fn put(&self, table: &TableName, before: Option<&Head>) -> Put {
        let mut item = head_key().to_item();
        item.insert(REVISION, u64::from(self.revision));
        item.insert(EDIT, u64::from(self.edit));
        if self.epoch > 0 {
            item.insert(EPOCH, u64::from(self.epoch));
            item.insert(FENCED, u64::from(self.fenced));
        }
        let former = self.former.iter().map(|model| model.to_value());
        item.insert(FORMER, Value::L(former.collect()));
        item.insert(SECRET, self.secret.to_vec());
        Put::new(table, item).when(match before {
            None => Condition::missing(PARTITION),
            Some(before) => Condition::equal(Path::from(EDIT), Value::from(u64::from(before.edit))),
        })
    }
}

impl Fingerprint {
    pub(crate) fn to_value(self) -> Value {
        Value::B(self.0.to_vec())
    }

    fn of(text: &str) -> Fingerprint {
        let hash: [u8; 32] = Sha256::digest(text).into();
        let mut fingerprint = [0; FINGERPRINT_BYTES];
        fingerprint.copy_from_slice(&hash[..FINGERPRINT_BYTES]);
        Fingerprint(fingerprint)
    }

    pub(crate) fn read(value: &Value) -> Option<Fingerprint> {
        value.as_b()?.try_into().ok().map(Fingerprint)
    }
}

fn head_key() -> RowKey {
    RowKey::system(MODEL, &[HEAD.into()])
}

/// The key of the record of an unfinished copy.
pub(crate) fn copy_key() -> RowKey {
    RowKey::system(MODEL, &[COPY.into()])
}

pub(super) fn number(value: &Value) -> Option<u32> {
    value.as_n().and_then(Number::to_i64).and_then(|number| u32::try_from(number).ok())
}
