//! Tokens of version 0.1 in DynamoDB: one table, `keyloom.tokens`, for all databases of an account, so
//! that an admin token of one opened all others.
//!
//! A database now has a table of its own for them. Nobody knows which of the shared tokens are meant
//! for it, so somebody has to decide; and as a server without tokens accepts loopback requests without
//! authentication, it must not start until that is done.

use std::sync::atomic::Ordering;

use keyloom::Error;
use keyloom_store::{Error as StoreError, Put, Store, TableName};
use keyloom_value::Condition;

use super::token::ID;
use super::tokens::{Tokens, rows, table_of};

const SHARED_TABLE: &str = "keyloom.tokens";

impl Tokens {
    /// Whether the tokens of the database in a table may be among those that version 0.1 shared: the
    /// database exists and has no table of tokens, and there are shared ones. Creates nothing.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn are_shared(store: &dyn Store, table: &str) -> Result<bool, Error> {
        let (own, shared) = (table_of(table)?, shared_table()?);
        let data = TableName::new(table).map_err(StoreError::from)?;
        if own == shared || exists(store, own).await? || !exists(store, data).await? {
            return Ok(false);
        }
        Ok(!rows(store, &shared).await?.is_empty())
    }

    /// Copies the tokens that version 0.1 shared, unless this database has them. They stay in the
    /// shared table, where other databases may need them. Returns how many were copied.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn adopt_shared(&self) -> Result<usize, Error> {
        let mut count = 0;
        for row in rows(&*self.store, &shared_table()?).await? {
            let put = Put::new(&self.table, row).when(Condition::missing(ID));
            match self.store.put(put).await {
                Ok(_) => count += 1,
                Err(StoreError::ConditionFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            self.is_open.store(false, Ordering::SeqCst);
        }
        Ok(count)
    }
}

fn shared_table() -> Result<TableName, Error> {
    Ok(TableName::new(SHARED_TABLE).map_err(StoreError::from)?)
}

async fn exists(store: &dyn Store, table: TableName) -> Result<bool, Error> {
    match store.describe_table(table).await {
        Ok(_) => Ok(true),
        Err(StoreError::TableNotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
