//! Batches.

use std::collections::HashSet;

use keyloom_value::{Item, KeyBytes};

use super::item::{item, key};
use super::write::get;
use crate::limits::{BATCH_GETS_MAX, BATCH_WRITES_MAX};
use crate::{BatchAction, BatchGet, BatchWrite, Error, Invalid, Specs, TableName, TableSpec};

/// Checks a batch of reads.
pub(crate) fn batch_get(batch: &BatchGet, specs: Specs<'_>) -> Result<(), Error> {
    action_count(batch.gets.len(), BATCH_GETS_MAX)?;
    let mut seen = Seen::default();
    for read in &batch.gets {
        let spec = specs(&read.table)?;
        get(&spec, read)?;
        seen.first_time((&read.table, &spec), &read.key)?;
    }
    Ok(())
}

/// Checks a batch of writes. Its size needs no check: 25 items of the maximum size are below the
/// limit of 16 MB.
pub(crate) fn batch_write(batch: &BatchWrite, specs: Specs<'_>) -> Result<(), Error> {
    action_count(batch.actions.len(), BATCH_WRITES_MAX)?;
    let mut seen = Seen::default();
    for action in &batch.actions {
        match action {
            BatchAction::Put(table, written) => {
                let spec = specs(table)?;
                item(&spec, written)?;
                seen.first_time((table, &spec), written)?;
            }
            BatchAction::Delete(table, deleted) => {
                let spec = specs(table)?;
                key(&spec, deleted)?;
                seen.first_time((table, &spec), deleted)?;
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

/// The items that a request has named so far. They are compared by their encoded keys: `1` and
/// `1.0` are one key.
#[derive(Default)]
pub(super) struct Seen<'a>(HashSet<(&'a TableName, KeyBytes)>);

impl<'a> Seen<'a> {
    /// Adds an item, or a key alone; fails if it was named before.
    pub(super) fn first_time(
        &mut self,
        (table, spec): (&'a TableName, &TableSpec),
        item: &Item,
    ) -> Result<(), Invalid> {
        if self.0.insert((table, spec.key.encode(item)?)) {
            return Ok(());
        }
        Err(Invalid::ItemTwice { table: table.clone(), key: Box::new(spec.key.of(item)) })
    }
}
