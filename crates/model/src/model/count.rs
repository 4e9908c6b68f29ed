//! Counts, with sums.

use super::id::FieldId;
use super::list::{PathPart, Test};

/// A count of entities, and sums of their fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// Its name, unique among the entity's counts.
    pub name: String,
    /// Where it is served, if it has a path.
    pub path: Option<Vec<PathPart>>,
    /// There is one count for each combination of values of these fields, and for each tenant.
    pub by: Vec<FieldId>,
    /// Fields whose values can be counted separately, in any combination.
    pub split: Vec<FieldId>,
    /// Fields whose values are added up, in the order of their names: of type `int` or `number`.
    pub sums: Vec<FieldId>,
    /// Only entities that pass all of these tests are counted.
    pub filter: Vec<Test>,
    /// The number of partitions that each counter is spread over, so that concurrent writers rarely
    /// touch the same row.
    pub shards: u32,
}
