//! Request validation for stores that keep their tables elsewhere: they can refuse an invalid
//! request before they send it, with the same reason as the stores of this crate.

use keyloom_value::Item;

use crate::decide::decide;
use crate::limits::GLOBAL_INDEXES_MAX;
use crate::{
    Alteration, BatchGet, BatchWrite, CancelReason, Delete, Error, Get, Put, Query, Scan, Specs,
    TableName, TableSpec, TransactAction, TransactGet, TransactWrite, UpdateItem, validate,
};

impl TableSpec {
    /// Checks whether such a table can exist in DynamoDB.
    pub fn check(&self) -> Result<(), Error> {
        Ok(validate::table_spec(self, GLOBAL_INDEXES_MAX)?)
    }
}

impl Alteration {
    /// Checks whether the table can be altered like this in DynamoDB.
    pub fn check(&self, specs: Specs<'_>, table: &TableName) -> Result<(), Error> {
        validate::alteration(&*specs(table)?, self, GLOBAL_INDEXES_MAX)
    }
}

impl Get {
    /// Checks whether the request is valid.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        Ok(validate::get(&*specs(&self.table)?, self)?)
    }
}

impl Put {
    /// Checks whether the request is valid, independent of the stored item.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        Ok(validate::put(&*specs(&self.table)?, self)?)
    }
}

impl UpdateItem {
    /// Checks whether the request is valid, independent of the stored item.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        Ok(validate::update(&*specs(&self.table)?, self)?)
    }
}

impl Delete {
    /// Checks whether the request is valid, independent of the stored item.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        Ok(validate::delete(&*specs(&self.table)?, self)?)
    }
}

impl Query {
    /// Checks whether the query is valid.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::query(&*specs(&self.table)?, self).map(drop)
    }
}

impl Scan {
    /// Checks whether the scan is valid.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::scan(&*specs(&self.table)?, self).map(drop)
    }
}

impl BatchGet {
    /// Checks whether the batch is valid.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::batch_get(self, specs)
    }
}

impl BatchWrite {
    /// Checks whether the batch is valid.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::batch_write(self, specs)
    }
}

impl TransactGet {
    /// Checks whether the transaction is valid.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::transact_get(self, specs)
    }
}

impl TransactWrite {
    /// Checks whether the transaction is valid, independent of the stored items.
    pub fn check(&self, specs: Specs<'_>) -> Result<(), Error> {
        validate::transact_write(self, specs).map(drop)
    }
}

impl TransactAction {
    /// Returns the item after the action, given the stored one, or why the action cannot be
    /// applied. The action has passed the check of its transaction.
    pub fn decide(
        &self,
        spec: &TableSpec,
        old: Option<&Item>,
    ) -> Result<Option<Item>, CancelReason> {
        decide(spec, old, self.clone())
    }
}
