//! Batches.

use keyloom_value::Item;

use super::item::{item, key};
use super::write::get;
use crate::limits::{BATCH_GETS_MAX, BATCH_WRITES_MAX};
use crate::{BatchAction, BatchGet, BatchWrite, Error, Invalid, Specs, TableName};

/// Whether the items can be asked for together.
pub(crate) fn batch_get(batch: &BatchGet, specs: Specs<'_>) -> Result<(), Error> {
    action_count(batch.gets.len(), BATCH_GETS_MAX)?;
    let mut seen = Seen::default();
    for read in &batch.gets {
        get(&*specs(&read.table)?, read)?;
        seen.first_time(&read.table, read.key.clone())?;
    }
    Ok(())
}

/// Whether the items can be written by one request. Their bytes need no check: 25 items of the
/// greatest size are below the limit of 16 MB.
pub(crate) fn batch_write(batch: &BatchWrite, specs: Specs<'_>) -> Result<(), Error> {
    action_count(batch.actions.len(), BATCH_WRITES_MAX)?;
    let mut seen = Seen::default();
    for action in &batch.actions {
        match action {
            BatchAction::Put(table, written) => {
                let spec = specs(table)?;
                item(&spec, written)?;
                seen.first_time(table, spec.key.of(written))?;
            }
            BatchAction::Delete(table, deleted) => {
                key(&*specs(table)?, deleted)?;
                seen.first_time(table, deleted.clone())?;
            }
        }
    }
    Ok(())
}

pub(super) fn action_count(count: usize, limit: usize) -> Result<(), Invalid> {
    match count {
        0 => Err(Invalid::NoActions),
        _ if count > limit => Err(Invalid::TooManyActions { count, limit }),
        _ => Ok(()),
    }
}

/// The items that a request has named so far. Keys are compared as values, because `1` and `1.0`
/// are one key.
#[derive(Default)]
pub(super) struct Seen<'a> {
    items: Vec<(&'a TableName, Item)>,
}

impl<'a> Seen<'a> {
    pub(super) fn first_time(&mut self, table: &'a TableName, key: Item) -> Result<(), Invalid> {
        if self.items.iter().any(|(other, seen)| *other == table && *seen == key) {
            return Err(Invalid::ItemTwice { table: table.clone(), key: Box::new(key) });
        }
        self.items.push((table, key));
        Ok(())
    }
}
