//! What every contender must be able to do.

use std::error::Error;

use keyloom_value::Item;

use crate::{Row, RowKey, Rows};

/// What a measurement step returns. Nobody branches on these errors: they end the run.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Rows that a range read found, as the contender hands them to its users.
pub(crate) enum Found {
    /// Bytes.
    Bodies(Vec<Vec<u8>>),
    /// Whole items.
    Items(Vec<Item>),
}

impl Found {
    pub(crate) fn count(&self) -> usize {
        match self {
            Found::Bodies(bodies) => bodies.len(),
            Found::Items(items) => items.len(),
        }
    }
}

/// Something that stores rows.
///
/// Implementors MUST copy what they return out of their own memory, answer a put only when a
/// crash cannot undo it, and let any number of threads call them.
pub(crate) trait Contender: Send + Sync {
    /// Stores all rows, as fast as it can, and leaves nothing to be done later.
    fn load(&self, rows: &Rows) -> Outcome<()>;
    /// The body of one row.
    fn get(&self, key: &RowKey) -> Outcome<Option<Vec<u8>>>;
    /// 20 rows of one partition, from the key on, in order.
    fn range20(&self, from: &RowKey) -> Outcome<Found>;
    /// Stores one row durably.
    fn put(&self, row: Row<'_>) -> Outcome<()>;
}
