//! A transaction with everything that follows from it and the tables alone: validated, its keys and
//! items encoded. The calling thread prepares it, which leaves less work for the committer.

use std::sync::Arc;

use crate::{Error, TransactAction, TransactWrite, validate};

use super::catalog::Catalog;
use super::fingerprint::fingerprint;
use super::format::{TableRecord, encode_item};

/// A transaction that is valid for these tables.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) transaction: TransactWrite,
    /// The target of each action.
    pub(crate) targets: Vec<Target>,
    /// The size that it is known to write. An update counts with its key.
    pub(crate) bytes: usize,
    /// Present if it has a token.
    pub(crate) fingerprint: Option<u128>,
    catalog: Arc<Catalog>,
}

/// The item that an action targets.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) table: Arc<TableRecord>,
    /// Its key, encoded.
    pub(crate) key: Vec<u8>,
    /// The new item, encoded, if the action alone determines it.
    pub(crate) new: Option<Vec<u8>>,
}

impl Prepared {
    pub(crate) fn new(
        transaction: TransactWrite,
        catalog: &Arc<Catalog>,
    ) -> Result<Prepared, Error> {
        let bytes = validate::transact_write(&transaction, &|name| catalog.spec(name))?;
        let targets = transaction.actions.iter().map(|action| Target::of(action, catalog));
        let targets = targets.collect::<Result<_, _>>()?;
        let fingerprint = transaction.token.as_ref().map(|_| fingerprint(&transaction));
        Ok(Prepared { transaction, targets, bytes, fingerprint, catalog: Arc::clone(catalog) })
    }

    /// Prepares it again if the tables have changed.
    pub(crate) fn for_tables(self, catalog: &Arc<Catalog>) -> Result<Prepared, Error> {
        if Arc::ptr_eq(&self.catalog, catalog) {
            return Ok(self);
        }
        Prepared::new(self.transaction, catalog)
    }
}

impl Target {
    pub(crate) fn of(action: &TransactAction, catalog: &Catalog) -> Result<Target, Error> {
        let table = Arc::clone(catalog.table(action.table())?);
        let key = table.spec.key.encode(action.image())?.into_vec();
        let new = match action {
            TransactAction::Put(put) => Some(encode_item(&put.item)),
            TransactAction::Update(_) | TransactAction::Delete(_) | TransactAction::Check(_) => {
                None
            }
        };
        Ok(Target { table, key, new })
    }
}
