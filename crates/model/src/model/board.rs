//! Leaderboards.

use super::access::Grantees;
use super::id::FieldId;
use super::list::Test;

/// A leaderboard, largest score first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Board {
    /// Its name, unique among the boards of the model.
    pub name: String,
    /// What is ranked.
    pub ranking: Ranking,
    /// There is one board for each combination of values of these fields, and for each tenant.
    pub by: Vec<FieldId>,
    /// Only entities that pass all of these tests take part.
    pub filter: Vec<Test>,
    /// Who may read it.
    pub readers: Grantees,
    /// The number of partitions that its counters are spread over.
    pub shards: u32,
}

impl Board {
    /// Whether it ranks entities, rather than values of a field.
    pub fn ranks_entities(&self) -> bool {
        match self.ranking {
            Ranking::Field(_) => true,
            Ranking::Count(_) => false,
        }
    }
}

/// What a board ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking {
    /// The values of this field, by how many entities have them.
    Count(FieldId),
    /// The entities, by this field.
    Field(FieldId),
}
