//! The operations of every contender.

use std::error::Error;

use keyloom_value::Item;

use crate::{Row, RowKey, Rows};

/// The result of a measurement step. Errors end the run.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Rows of a range read, as the contender returns them to users.
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
/// Implementors MUST return copies, return from a put only when it is durable, and allow concurrent
/// calls.
pub(crate) trait Contender: Send + Sync {
    /// Stores all rows as fast as possible, and leaves no work for later.
    fn load(&self, rows: &Rows) -> Outcome<()>;
    /// Returns the body of one row.
    fn get(&self, key: &RowKey) -> Outcome<Option<Vec<u8>>>;
    /// Returns 20 rows of one partition, from the key on, in order.
    fn range20(&self, from: &RowKey) -> Outcome<Found>;
    /// Stores one row durably.
    fn put(&self, row: Row<'_>) -> Outcome<()>;
}
