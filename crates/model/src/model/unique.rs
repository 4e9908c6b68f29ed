//! Unique constraints.

use super::id::FieldId;

/// Values that no two entities of a kind (and of a tenant) have in common. An entity that lacks one
/// of the fields is not constrained.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unique {
    /// The fields that are unique together.
    pub fields: Vec<FieldId>,
    /// If set, unique only among entities with the same value in this field.
    pub within: Option<FieldId>,
    /// Whether texts are compared with or without case.
    pub case: CaseMode,
}

/// Whether case matters in comparisons of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseMode {
    /// `A` and `a` differ.
    Exact,
    /// `A` and `a` are equal.
    Folded,
}
