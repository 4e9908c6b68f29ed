//! Ordered lists, and the tests and paths that counts and boards share with them.

use super::access::Grantees;
use super::id::FieldId;
use super::literal::Literal;

/// An ordered list of entities. An entity that lacks a field of `by` or `order` is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct List {
    /// Its name, unique among the entity's lists.
    pub name: String,
    /// Where it is served, if it has a path of its own.
    pub path: Option<Vec<PathPart>>,
    /// There is one list for each combination of values of these fields, and for each tenant.
    pub by: Vec<FieldId>,
    /// The order; ties, or all entries if this is empty, are ordered by id, and generated ids are
    /// in order of creation.
    pub order: Vec<OrderBy>,
    /// Only entities that pass all of these tests are in it.
    pub filter: Vec<Test>,
    /// Fields that can narrow it, in any combination.
    pub facets: Vec<FieldId>,
    /// Who may read it.
    pub readers: Grantees,
    /// The number of partitions that each of its parts is spread over.
    pub shards: u32,
}

/// A part of a path, between slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathPart {
    /// A fixed text.
    Text(String),
    /// The value of a field.
    Field(FieldId),
}

/// A field that orders a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// The field.
    pub field: FieldId,
    /// Its direction.
    pub direction: Direction,
}

/// The direction of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// A test that a field has a given value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The field.
    pub field: FieldId,
    /// The value, of the field's type.
    pub value: Literal,
}
