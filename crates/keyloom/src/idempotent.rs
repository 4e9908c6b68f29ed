//! Changes that happen once, however often they are asked for.

use keyloom_store::Delete;
use keyloom_value::Value;
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::change::Change;
use crate::db::Db;
use crate::error::Error;
use crate::events::overflow::keys_of_deleted;
use crate::record::Record;
use crate::write::{Done, IdempotencyKey};

/// As long as a key can be.
const KEY_BYTES_MAX: usize = 255;

/// What came of changes that happen once: for each what the entity was afterwards; none if it was
/// deleted.
#[derive(Clone, Debug, PartialEq)]
pub enum Idempotent {
    /// They have happened now.
    Applied(Vec<Option<Record>>),
    /// They happened before: this is what was answered then, whatever has changed since.
    Replayed(Vec<Option<Record>>),
}

impl Idempotent {
    /// The answer, whenever it was given.
    pub fn records(self) -> Vec<Option<Record>> {
        match self {
            Idempotent::Applied(records) | Idempotent::Replayed(records) => records,
        }
    }
}

impl Db {
    /// Makes several changes together or not at all, and once: asked for again with the same key,
    /// they are answered as they were the first time, and nothing happens. So a caller who was not
    /// told whether they happened asks again. Keys are kept for 24 hours, and each tenant has its
    /// own. Changes that fail may be asked for again.
    ///
    /// # Errors
    ///
    /// As [`Db::transact`]; [`Error::KeyReused`] if other changes happened with this key;
    /// [`Error::KeyUnfit`] unless it has 1 to 255 bytes; [`Error::AnswerTooLarge`] if what the
    /// entities are afterwards is larger than a row can be.
    pub fn transact_idempotent<'a>(
        &'a self,
        key: &'a str,
        changes: Vec<Change>,
    ) -> Answer<'a, Idempotent> {
        Box::pin(async move {
            let (bytes, bytes_max) = (key.len(), KEY_BYTES_MAX);
            if bytes == 0 || bytes > bytes_max {
                return Err(Error::KeyUnfit { bytes, bytes_max });
            }
            let key = IdempotencyKey {
                name: key.to_owned(),
                place: place(key, self.tenant.as_ref()),
                fingerprint: fingerprint(&changes),
            };
            let orphans = keys_of_deleted(self, &changes).await?;
            let schema = self.shared.schema();
            let intents = self.intents(&schema, changes)?;
            let done = self.shared.executor(&schema).execute_idempotent(intents, key).await?;
            // Not together with the job: at worst, rows that nobody reads stay.
            for key in orphans {
                self.shared.store.delete(Delete::new(&self.shared.table, key)).await?;
            }
            Ok(match done {
                Done::Now(images) => Idempotent::Applied(Record::all(&schema, images)),
                Done::Before(images) => Idempotent::Replayed(Record::all(&schema, images)),
            })
        })
    }
}

/// The same for the same key of the same tenant alone.
fn place(key: &str, tenant: Option<&Value>) -> [u8; 32] {
    let mut pieces = Pieces::new();
    pieces.add(key);
    pieces.add_some(tenant);
    pieces.hash()
}

/// The same for the same changes alone, as they were asked for: ids that are made, times that are
/// filled in and what the model says have no part in it.
fn fingerprint(changes: &[Change]) -> [u8; 32] {
    let mut pieces = Pieces::new();
    for change in changes {
        let (kind, document) = change.kind();
        pieces.add(change.entity());
        pieces.add(kind);
        pieces.add_some(change.id());
        pieces.add_some(change.expected());
        pieces.add_some(document);
    }
    pieces.hash()
}

/// Collects what a hash is of. Every piece is told apart from the next by its length, and what is
/// missing from what is empty.
pub(crate) struct Pieces(Sha256);

impl Pieces {
    pub(crate) fn new() -> Pieces {
        Pieces(Sha256::new())
    }

    pub(crate) fn hash(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    pub(crate) fn add(&mut self, piece: &str) {
        self.0.update((piece.len() as u64).to_be_bytes());
        self.0.update(piece);
    }

    /// The text of an item or a value tells any two apart.
    pub(crate) fn add_some(&mut self, piece: Option<impl ToString>) {
        self.0.update([u8::from(piece.is_some())]);
        if let Some(piece) = piece {
            self.add(&piece.to_string());
        }
    }
}
