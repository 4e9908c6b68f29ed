//! Tokens that move with a copy of their database. Rows hold hashes, so the texts stay valid.

use std::sync::atomic::Ordering;

use keyloom::{Error, Item};
use keyloom_store::{Put, Store};

use super::tokens::{Tokens, rows, table_of};

impl Tokens {
    /// The rows of all tokens of the database in a table, to be copied. Creates nothing.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn stored_rows(store: &dyn Store, table: &str) -> Result<Vec<Item>, Error> {
        rows(store, &table_of(table)?).await
    }

    /// Writes rows of tokens of another database.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn put_rows(&self, rows: &[Item]) -> Result<(), Error> {
        for row in rows {
            self.store.put(Put::new(&self.table, row.clone())).await?;
            self.is_open.store(false, Ordering::SeqCst);
        }
        Ok(())
    }
}
