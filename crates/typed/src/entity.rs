//! Entities as Rust types.

use keyloom::Record;

use crate::Unfit;

/// A kind of entity of a model. Generated types implement it.
pub trait Entity: Sized + Send + 'static {
    /// Its name in the model.
    const NAME: &'static str;

    /// Reads an entity of this kind.
    ///
    /// # Errors
    ///
    /// If a value does not fit.
    fn from_record(record: &Record) -> Result<Self, Unfit>;
}
