//! The questions that are declared: ordered lists, counts, boards, tags; and what is called.

use super::{EntityId, FieldId, Literal};

/// A list of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(pub(crate) u16);

impl ListId {
    /// Its place among the entity's lists, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Entities in an order. An entity in which a field of `by` or `order` is absent is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct List {
    /// Its name, which no other list of the entity has.
    pub name: String,
    /// Where it is served, if it has a path of its own.
    pub path: Option<Vec<PathPart>>,
    /// There is one list for each combination of values of these; besides the tenant.
    pub by: Vec<FieldId>,
    /// By what it is ordered; at last, and if this is empty only, by id: generated ids are in order of creation.
    pub order: Vec<OrderBy>,
    /// Only entities that pass all of these are in it.
    pub filter: Vec<Test>,
    /// Fields by which it can be narrowed, in any combination.
    pub facets: Vec<FieldId>,
}

/// A part of a path, between slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathPart {
    /// This text.
    Text(String),
    /// The value of a field.
    Field(FieldId),
}

/// A field that orders a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// By its value.
    pub field: FieldId,
    /// Up or down.
    pub direction: Direction,
}

/// Up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The least first.
    Ascending,
    /// The greatest first.
    Descending,
}

/// Whether case matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseMode {
    /// `A` and `a` are two.
    Exact,
    /// `A` and `a` are one.
    Folded,
}

/// A field has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Which field.
    pub field: FieldId,
    /// Which value, of the field's type.
    pub value: Literal,
}

/// A count of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountId(pub(crate) u16);

impl CountId {
    /// Its place among the entity's counts, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// How many entities there are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// Its name, which no other count of the entity has.
    pub name: String,
    /// Where it is served, if it has a path.
    pub path: Option<Vec<PathPart>>,
    /// There is one count for each combination of values of these; besides the tenant.
    pub by: Vec<FieldId>,
    /// It can be told for each value of these, in any combination.
    pub split: Vec<FieldId>,
    /// Only entities that pass all of these are counted.
    pub filter: Vec<Test>,
    /// Over how many rows each number is spread, so that many can write at once.
    pub shards: u32,
}

/// A board of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoardId(pub(crate) u16);

impl BoardId {
    /// Its place among the entity's boards, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A ranking, the greatest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Board {
    /// Its name, which no other board of the model has.
    pub name: String,
    /// What is ranked.
    pub ranking: Ranking,
    /// There is one board for each combination of values of these; besides the tenant.
    pub by: Vec<FieldId>,
    /// Only entities that pass all of these take part.
    pub filter: Vec<Test>,
}

impl Board {
    /// Whether it ranks entities, and not values of a field.
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
    /// The entities, by this field of theirs.
    Field(FieldId),
}

/// Tag keys that are looked up together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagCombination {
    /// The field that holds the tags.
    pub field: FieldId,
    /// At least two different keys.
    pub keys: Vec<String>,
}

/// What is called after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handler {
    /// Of which entity.
    pub entity: EntityId,
    /// After which change.
    pub change: TriggeringChange,
    /// What is called.
    pub target: Target,
}

/// What is called after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The program's own handler of this name.
    Handler(String),
    /// The event is posted to this address.
    Webhook(String),
    /// A job of this kind is made of the event.
    Job(String),
}

/// A change after which something can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggeringChange {
    /// It was created.
    Insert,
    /// It was changed.
    Update,
    /// It was deleted.
    Delete,
}

impl TriggeringChange {
    /// All of them.
    pub const ALL: [TriggeringChange; 3] =
        [TriggeringChange::Insert, TriggeringChange::Update, TriggeringChange::Delete];

    /// What it is called in a model file, and in what is told of it.
    pub fn word(self) -> &'static str {
        match self {
            TriggeringChange::Insert => "insert",
            TriggeringChange::Update => "update",
            TriggeringChange::Delete => "delete",
        }
    }
}
