//! Reading the fields of a record.

use keyloom::Record;

use crate::{FromValue, Id, Unfit, Version};

/// The fields of a record, by name.
#[derive(Clone, Copy, Debug)]
pub struct StoredFields<'r>(&'r Record);

impl<'r> StoredFields<'r> {
    /// The fields of a record.
    pub fn of(record: &'r Record) -> StoredFields<'r> {
        StoredFields(record)
    }

    /// The id.
    pub fn id<E>(self) -> Id<E> {
        Id::new(self.0.id())
    }

    /// The version.
    pub fn version(self) -> Version {
        Version::new(self.0.version())
    }

    /// A field that is always present.
    ///
    /// # Errors
    ///
    /// If it is absent, or of another type.
    pub fn required<T: FromValue>(self, name: &str) -> Result<T, Unfit> {
        self.0.get(name).and_then(T::from_value).ok_or_else(|| self.unfit::<T>(name))
    }

    /// A field that may be absent.
    ///
    /// # Errors
    ///
    /// If it is of another type.
    pub fn optional<T: FromValue>(self, name: &str) -> Result<Option<T>, Unfit> {
        let value = self.0.get(name).map(|value| T::from_value(value));
        value.map(|read| read.ok_or_else(|| self.unfit::<T>(name))).transpose()
    }

    fn unfit<T: FromValue>(self, field: &str) -> Unfit {
        Unfit {
            entity: self.0.entity().to_owned(),
            id: Some(self.0.id().to_owned()),
            field: field.to_owned(),
            expected: T::EXPECTED,
        }
    }
}
