//! The rules of requests, for stores that keep their tables elsewhere: they can refuse what breaks
//! a rule before they send it, with the same reason as the stores of this crate.

use std::sync::Arc;

use keyloom_value::Item;

use crate::decide::decide;
use crate::{
    Alteration, BatchGet, BatchWrite, CancelReason, Delete, Error, Get, Put, Query, Scan,
    TableName, TableSpec, TransactAction, TransactGet, TransactWrite, UpdateItem, validate,
};

/// Finds the spec of a table, or says that there is no such table.
pub type Specs<'a> = &'a dyn Fn(&TableName) -> Result<Arc<TableSpec>, Error>;

impl TableSpec {
    /// Whether there can be such a table.
    pub fn check(&self) -> Result<(), Error> {
        Ok(validate::table_spec(self)?)
    }
}

impl Alteration {
    /// Whether the table can be changed so.
    pub fn check(&self, specs: Specs<'_>, table: &TableName) -> Result<(), Error> {
        validate::alteration(&*specs(table)?, self)
    }
}

impl Get {
    /// Whether the item can be asked for.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        Ok(validate::get(&*specs(&self.table)?, self)?)
    }
}

impl Put {
    /// Whether the item can be written, whatever is there.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        Ok(validate::put(&*specs(&self.table)?, self)?)
    }
}

impl UpdateItem {
    /// Whether the update can be tried.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        Ok(validate::update(&*specs(&self.table)?, self)?)
    }
}

impl Delete {
    /// Whether the item can be deleted, whatever it is.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        Ok(validate::delete(&*specs(&self.table)?, self)?)
    }
}

impl Query {
    /// Whether the query can be answered.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::query(&*specs(&self.table)?, self).map(drop)
    }
}

impl Scan {
    /// Whether the scan can be answered.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::scan(&*specs(&self.table)?, self).map(drop)
    }
}

impl BatchGet {
    /// Whether the items can be asked for together.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::batch_get(self, specs)
    }
}

impl BatchWrite {
    /// Whether the items can be written by one request.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::batch_write(self, specs)
    }
}

impl TransactGet {
    /// Whether the items can be asked for together.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::transact_get(self, specs)
    }
}

impl TransactWrite {
    /// Whether the transaction can be tried.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::transact_write(self, specs).map(drop)
    }
}

impl TransactAction {
    /// The item after the action, given the one that is there, or why the action cannot happen.
    /// The action has passed the check of its transaction.
    pub fn decide(
        &self,
        spec: &TableSpec,
        old: Option<&Item>,
    ) -> Result<Option<Item>, CancelReason> {
        decide(spec, old, self.clone())
    }
}
