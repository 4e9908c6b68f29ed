//! Counts, with sums and windows.

use super::access::Grantees;
use super::id::FieldId;
use super::list::{PathPart, Test};
use super::window::Window;

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
    /// Entities in different windows of time can be counted separately too.
    pub window: Option<Window>,
    /// Fields whose values are added up, in the order of their names: of type `int` or `number`.
    pub sums: Vec<FieldId>,
    /// Fields of which the least value is known, in the order of their names.
    pub min: Vec<FieldId>,
    /// Fields of which the greatest value is known, in the order of their names.
    pub max: Vec<FieldId>,
    /// Only entities that pass all of these tests are counted.
    pub filter: Vec<Test>,
    /// Who may read it.
    pub readers: Grantees,
    /// The number of partitions that each counter is spread over, so that concurrent writers rarely
    /// touch the same row.
    pub shards: u32,
}

impl Count {
    /// The fields whose values are kept in order, each once.
    pub fn extremes(&self) -> Vec<FieldId> {
        let others = self.max.iter().filter(|field| !self.min.contains(field));
        self.min.iter().chain(others).copied().collect()
    }

    /// How many counters an entity adds to: for each combination of `split` and windows one, and one for
    /// each field whose values are kept in order.
    pub fn counters(&self) -> usize {
        let halves = self.split.len() + usize::from(self.window.is_some());
        let combinations = u32::try_from(halves).ok().and_then(|halves| 1usize.checked_shl(halves));
        combinations.unwrap_or(usize::MAX / 4).saturating_mul(1 + self.extremes().len())
    }
}
