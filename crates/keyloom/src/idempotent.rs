//! Idempotent changes: requested again with the same key, they are not applied again.

use keyloom_store::Delete;

use crate::answer::Answer;
use crate::change::{Change, GivenId, resolve};
use crate::db::Db;
use crate::error::Error;
use crate::events::overflow::keys_of_deleted;
use crate::pieces::Pieces;
use crate::record::Record;
use crate::write::{Done, IdempotencyKey, WriteRequest};

/// Mark pieces that most changes do not have. Every other piece begins with 0 or 1: a length, or whether
/// there is one.
const ID_OF: u8 = 2;
const NAMED: u8 = 3;
const USER: u8 = 4;
/// The limit of a key.
const KEY_BYTES_MAX: usize = 255;

/// The result of idempotent changes: the entity after each change; none if it was deleted.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Change, Db, Idempotent};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.task]
///     fields.name = "text"
///     fields.done = "bool = false"
///     fields.tags = "tags = {}"
///     list.all  = {}
///     list.open = { order = "-name", where = { done = false } }
/// "#;
/// let db = Db::open(model, store).await?;
/// let cook = || Change::create("task", &json!({ "name": "cook" })).map(|change| vec![change]);
/// let first = db.transact_idempotent("key 1", cook()?).await?;
/// // A repetition, perhaps after a lost answer.
/// let again = db.transact_idempotent("key 1", cook()?).await?;
/// assert!(matches!(again, Idempotent::Replayed(_)));
/// assert_eq!(first.records(), again.records());
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Idempotent {
    /// The changes were applied now.
    Applied(Vec<Option<Record>>),
    /// The changes were applied before: this is the result of that time, whatever has changed since.
    Replayed(Vec<Option<Record>>),
}

impl Idempotent {
    /// Returns the result, new or old.
    pub fn records(self) -> Vec<Option<Record>> {
        match self {
            Idempotent::Applied(records) | Idempotent::Replayed(records) => records,
        }
    }
}

impl Db {
    /// Makes several changes, all or none, and only once: a repetition with the same key changes
    /// nothing and returns the first result. So a caller that does not know whether its changes were
    /// applied can repeat them. Keys are kept for 24 hours; each tenant and each user has its own. Changes that
    /// fail can be repeated.
    ///
    /// [`Idempotent`] has an example.
    ///
    /// # Errors
    ///
    /// As [`Db::transact`]; [`Error::KeyReused`] if the key was used for other changes;
    /// [`Error::KeyUnfit`] unless it has 1 to 255 bytes; [`Error::AnswerTooLarge`] if the result does
    /// not fit into a row.
    pub fn transact_idempotent<'a>(
        &'a self,
        key: &'a str,
        changes: Vec<Change>,
    ) -> Answer<'a, Idempotent> {
        Box::pin(async move {
            let key = IdempotencyKey::of(key, self, fingerprint(&changes))?;
            self.apply_once(key, changes).await
        })
    }

    async fn apply_once(
        &self,
        key: IdempotencyKey,
        changes: Vec<Change>,
    ) -> Result<Idempotent, Error> {
        let orphans = keys_of_deleted(self, changes.iter().filter_map(Change::deleted_job)).await?;
        let done = self.apply_under_model(key, changes).await?;
        // Not in the same transaction: at worst, rows that nobody reads remain.
        for key in orphans {
            self.shared.store.delete(Delete::new(&self.shared.table, key)).await?;
        }
        Ok(done)
    }

    /// Applies changes, again if another process changes the model meanwhile.
    async fn apply_under_model(
        &self,
        key: IdempotencyKey,
        mut changes: Vec<Change>,
    ) -> Result<Idempotent, Error> {
        loop {
            let (schema, again) = (self.shared.schema(), self.shared.keep_for_retry(&changes));
            let intents = resolve(changes, self.scope(&schema), &self.shared.stamps)?;
            let executor = self.shared.executor(&schema);
            let user = self.user.clone();
            let request = WriteRequest { user, ..WriteRequest::from(intents) };
            let done = executor.execute_idempotent(request, key.clone()).await;
            match again {
                Some(again) if self.shared.is_superseded(&schema, &done).await? => changes = again,
                Some(_) | None => {
                    return Ok(match done.map_err(|error| self.shown_error(error))? {
                        Done::Now(images) => Idempotent::Applied(Record::all(&schema, images)),
                        Done::Before(images) => Idempotent::Replayed(Record::all(&schema, images)),
                    });
                }
            }
        }
    }
}

impl IdempotencyKey {
    /// The key of a request with this fingerprint, by the tenant and the user of a database.
    pub(crate) fn of(key: &str, db: &Db, fingerprint: [u8; 32]) -> Result<Self, Error> {
        let (bytes, bytes_max) = (key.len(), KEY_BYTES_MAX);
        if bytes == 0 || bytes > bytes_max {
            return Err(Error::KeyUnfit { bytes, bytes_max });
        }
        Ok(IdempotencyKey { name: key.to_owned(), place: place(key, db), fingerprint })
    }
}

/// Identifies the key of a tenant, and of a user if there is one.
fn place(key: &str, db: &Db) -> [u8; 32] {
    let mut pieces = Pieces::new();
    pieces.add(key);
    pieces.add_some(db.tenant.as_ref());
    if let Some(user) = &db.user {
        pieces.add_marked(USER, &user.subject);
    }
    pieces.hash()
}

/// Identifies changes as they were requested, without generated ids, default times and whatever
/// else the model adds.
fn fingerprint(changes: &[Change]) -> [u8; 32] {
    let mut pieces = Pieces::new();
    for change in changes {
        let (kind, document) = change.kind();
        pieces.add(change.entity());
        pieces.add(kind);
        match change.id() {
            Some(GivenId::Text(id)) => pieces.add_some(Some(id)),
            None => pieces.add_some(None::<&str>),
            Some(GivenId::Of(name)) => pieces.add_marked(ID_OF, name),
        }
        pieces.add_some(change.expected());
        pieces.add_some(document);
        if let Some(name) = change.name() {
            pieces.add_marked(NAMED, name);
        }
    }
    pieces.hash()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(changes: &[Change]) -> String {
        fingerprint(changes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_fingerprint_of_changes_without_names_is_that_of_earlier_versions() {
        // Computed separately. A request that an earlier version applied must still be a replay.
        let expected = "1fb4eabdd3fe2263e583affe1fdcb022047a22a8787c5f5377f96fdfdf3c9b0a";
        assert_eq!(hex(&[Change::delete("order", "7").expecting("v")]), expected);
    }

    #[test]
    fn names_are_part_of_the_fingerprint() {
        let delete = || Change::delete("order", "7");
        let all = [
            vec![delete()],
            vec![delete().named("7")],
            vec![delete().with_id_of("7")],
            vec![delete().with_id_of("7").named("7")],
            vec![delete().named("7"), delete()],
            vec![delete(), delete().named("7")],
        ];
        let distinct: std::collections::BTreeSet<String> =
            all.iter().map(|changes| hex(changes)).collect();
        assert_eq!(distinct.len(), all.len());
    }
}
