//! Permits: the rows by which writes of several processes are fenced. On a store that processes
//! share, every transaction checks that a permit of its process exists. A permit belongs to the epoch
//! of the model that the process has loaded, and to no other process.
//!
//! ```text
//! ("m", "permit-NN") / writer, number   epoch; when it expires
//! ```
//!
//! A change of the model switches epochs in three steps, which any process can complete:
//!
//! ```text
//! head: epoch = e + 1    no permit of epoch e can be created: that checks the head
//! delete all of epoch e  a transaction that checks one of them fails from then on
//! head: fenced = e + 1   permits of epoch e + 1 can be created
//! ```
//!
//! So permits of two epochs never exist at once, except those of `e` that are being deleted, and a
//! write that was decided under an old model is never applied after one under the new model, however
//! long its process was paused.

use keyloom_model::RowKey;
use keyloom_model::attribute::{EXPIRY, PARTITION, SORT};
use keyloom_store::{Delete, Put, Store, TableName, TransactAction, TransactWrite};
use keyloom_value::{Item, Value};

use super::Stored;
use super::head::{Head, number};
use super::stored::{write_fenced, write_switching};
use crate::error::Error;
use crate::system_rows::system_rows;

const NAME: &str = "permit";
const EPOCH: &str = "epoch";
/// The partitions of permits. A check takes two write units, and a partition has 1,000 a second: all
/// processes together make up to 16,000 transactions a second.
const PARTS: u32 = 32;
/// How long a permit is kept that nobody removes: its process may be gone. A process whose permit
/// expires creates another one.
const KEPT_SECS: i64 = 7 * 24 * 3600;

/// Returns the key of a permit of a process.
pub(crate) fn permit_key(writer: u64, number: u32) -> RowKey {
    let part = u32::try_from(writer % u64::from(PARTS)).unwrap_or(0);
    let part = part.wrapping_add(number) % PARTS;
    RowKey::system(&partition(part), &[Value::from(writer), Value::from(u64::from(number))])
}

/// Creates permits of an epoch, all or none. Fails if the epoch is not in force.
pub(crate) fn create_permits(
    table: &TableName,
    epoch: u32,
    keys: &[RowKey],
    now_ms: i64,
) -> TransactWrite {
    let put = |key: &RowKey| {
        let mut item = key.to_item();
        item.insert(EPOCH, u64::from(epoch));
        item.insert(EXPIRY, now_ms.div_euclid(1000).saturating_add(KEPT_SECS));
        TransactAction::Put(Put::new(table, item))
    };
    let actions = [Head::check_epoch(table, epoch)].into_iter().chain(keys.iter().map(put));
    TransactWrite::new(actions.collect())
}

/// Completes the switch to the epoch of the stored models, if it is not complete. Returns false if
/// the stored models have changed meanwhile.
pub(crate) async fn complete_switch(
    store: &dyn Store,
    table: &TableName,
    stored: &mut Stored,
) -> Result<bool, Error> {
    if !stored.head.is_switching() {
        return Ok(true);
    }
    revoke_permits(store, table, stored.head.epoch).await?;
    match write_fenced(store, table, &stored.head).await? {
        None => Ok(false),
        Some(head) => {
            stored.head = head;
            Ok(true)
        }
    }
}

/// Begins a switch to another epoch of the same model: until it is completed, nobody can write. Returns
/// the head, or none if the stored models have changed meanwhile.
pub(super) async fn fence_all(
    store: &dyn Store,
    table: &TableName,
    before: &Head,
) -> Result<Option<Head>, Error> {
    let Some(head) = write_switching(store, table, before).await? else { return Ok(None) };
    revoke_permits(store, table, head.epoch).await?;
    Ok(Some(head))
}

/// Deletes all permits of earlier epochs. The head names the epoch already, so none are created.
async fn revoke_permits(store: &dyn Store, table: &TableName, epoch: u32) -> Result<(), Error> {
    for part in 0..PARTS {
        for row in
            system_rows(store, table, RowKey::system(&partition(part), &[]).partition).await?
        {
            if epoch_of(&row).is_none_or(|of| of < epoch) {
                store.delete(Delete::new(table, key_of(&row))).await?;
            }
        }
    }
    Ok(())
}

fn key_of(row: &Item) -> Item {
    let mut key = Item::new();
    for (name, value) in [PARTITION, SORT].map(|name| (name, row.get(name))) {
        if let Some(value) = value {
            key.insert(name, value.clone());
        }
    }
    key
}

fn epoch_of(row: &Item) -> Option<u32> {
    number(row.get(EPOCH)?)
}

fn partition(part: u32) -> String {
    format!("{NAME}-{part:02}")
}
