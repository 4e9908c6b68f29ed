//! Numbers that entities get in the order of their creation.

use super::id::FieldId;

/// A number that every entity gets when it is created: one more than the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sequence {
    /// The field with the number, an `int` that clients cannot set.
    pub field: FieldId,
    /// Entities with other values in these fields are numbered by themselves, as those of another
    /// tenant are.
    pub by: Vec<FieldId>,
}
