//! A transaction with what follows from it and the tables alone: checked, its keys and items encoded.
//! Whoever sends it does that, so that the one thread that commits has less to do.

use std::sync::Arc;

use crate::{Error, TransactAction, TransactWrite, validate};

use super::catalog::Catalog;
use super::fingerprint::fingerprint;
use super::format::{TableRecord, encode_item};

/// A transaction that keeps the rules of these tables.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) transaction: TransactWrite,
    /// The item that each action is about.
    pub(crate) targets: Vec<Target>,
    /// What it is known to leave behind. An update counts with its key.
    pub(crate) bytes: usize,
    /// If it has a token.
    pub(crate) fingerprint: Option<u128>,
    catalog: Arc<Catalog>,
}

/// The item that an action is about.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) table: Arc<TableRecord>,
    /// Its key, encoded.
    pub(crate) key: Vec<u8>,
    /// What it becomes, encoded, if the action alone says that.
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

    /// The same for the tables as they are now.
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
