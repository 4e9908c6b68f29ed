//! Combinations of tag keys.

use super::id::FieldId;

/// Tag keys that are looked up together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagCombination {
    /// The field that holds the tags.
    pub field: FieldId,
    /// At least two different keys.
    pub keys: Vec<String>,
}
