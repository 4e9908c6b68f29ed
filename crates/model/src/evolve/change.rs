//! What differs between two models, and what that means for data that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::{BoardId, CountId, EntityId, FieldId, ListId, Model, UniqueId};

/// All changes from one model to another; ids are those of the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evolution {
    changes: Vec<Change>,
    /// The entities whose rows are rewritten, by name, for people.
    backfilled: Vec<String>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Of this entity.
    pub entity: EntityId,
    /// What it is.
    pub kind: ChangeKind,
    pub(super) text: String,
}

/// What was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The entity is new, with all that is declared of it. There is no data of it yet.
    EntityAdded,
    /// A new field, which existing entities lack.
    FieldAdded(FieldId),
    /// A new field, of which existing entities get the default.
    FieldFilled(FieldId),
    /// A field takes what it took, and more; or has another default or rule for deletion.
    FieldRelaxed(FieldId),
    /// A field takes less than it took: what is stored must be looked at before.
    FieldTightened(FieldId),
    /// A new list.
    ListAdded(ListId),
    /// Another `by`, `order` or `where`, or an order in which enum members have moved.
    ListRebuilt(ListId),
    /// A list is gone.
    ListRemoved,
    /// A new unique.
    UniqueAdded(UniqueId),
    /// A unique is gone.
    UniqueRemoved,
    /// Another field says when entities expire, or one at last, or none any more.
    ExpiryChanged,
    /// Another path, other handlers, or other read-only fields.
    ServiceChanged,
    /// Entities are numbered since they are looked for by tags or facets, or are not any more: their
    /// lists order equals by number.
    NumberingChanged,
    /// Other facets of a list.
    FacetsChanged(ListId),
    /// A count is new, or says something else.
    CountBuilt(CountId),
    /// A count is gone.
    CountRemoved,
    /// A board is new, or says something else.
    BoardBuilt(BoardId),
    /// A board is gone.
    BoardRemoved,
    /// Other combinations of tags.
    CombinationsChanged,
}

/// What a change means for rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impact {
    /// Nothing: only what is to come is different.
    Nothing,
    /// Every row of the entity's data must be written anew.
    Rows,
}

impl Evolution {
    pub(super) fn new(changes: Vec<Change>, model: &Model) -> Evolution {
        let mut evolution = Evolution { changes, backfilled: vec![] };
        let entities = evolution.rewritten().into_keys();
        evolution.backfilled = entities.map(|id| model.entity(id).name.clone()).collect();
        evolution
    }

    /// Whether the models mean the same.
    pub fn is_nothing(&self) -> bool {
        self.changes.is_empty()
    }

    /// Every change, in the order of the new model.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The entities whose rows must be written anew, and why.
    pub fn rewritten(&self) -> BTreeMap<EntityId, Vec<&Change>> {
        let mut rewritten: BTreeMap<EntityId, Vec<&Change>> = BTreeMap::new();
        for change in self.changes.iter().filter(|change| change.kind.impact() == Impact::Rows) {
            rewritten.entry(change.entity).or_default().push(change);
        }
        rewritten
    }

    /// The entities of which stored data may not be right under the new model.
    pub fn tightened(&self) -> BTreeSet<EntityId> {
        let is_tightened = |change: &&Change| matches!(change.kind, ChangeKind::FieldTightened(_));
        self.changes.iter().filter(is_tightened).map(|change| change.entity).collect()
    }

    /// The lists that answer only when the rows of their entity are written anew.
    pub fn pending_lists(&self) -> impl Iterator<Item = (EntityId, ListId)> {
        self.pending().filter_map(|(entity, pending)| match pending {
            Pending::List(list) => Some((entity, list)),
            Pending::Unique(_) | Pending::Count(_) | Pending::Board(_) => None,
        })
    }

    /// The uniques that hold, and find their entity, only when its rows are written anew.
    pub fn pending_uniques(&self) -> impl Iterator<Item = (EntityId, UniqueId)> {
        self.pending().filter_map(|(entity, pending)| match pending {
            Pending::Unique(unique) => Some((entity, unique)),
            Pending::List(_) | Pending::Count(_) | Pending::Board(_) => None,
        })
    }

    /// The counts that answer only when the rows of their entity are written anew.
    pub fn pending_counts(&self) -> impl Iterator<Item = (EntityId, CountId)> {
        self.pending().filter_map(|(entity, pending)| match pending {
            Pending::Count(count) => Some((entity, count)),
            Pending::List(_) | Pending::Unique(_) | Pending::Board(_) => None,
        })
    }

    /// The boards that answer only when the rows of their entity are written anew.
    pub fn pending_boards(&self) -> impl Iterator<Item = (EntityId, BoardId)> {
        self.pending().filter_map(|(entity, pending)| match pending {
            Pending::Board(board) => Some((entity, board)),
            Pending::List(_) | Pending::Unique(_) | Pending::Count(_) => None,
        })
    }

    fn pending(&self) -> impl Iterator<Item = (EntityId, Pending)> {
        self.changes.iter().filter_map(|change| Some((change.entity, change.kind.pending()?)))
    }
}

/// What cannot be relied on before the backfill is done.
#[derive(Clone, Copy, Debug)]
enum Pending {
    List(ListId),
    Unique(UniqueId),
    Count(CountId),
    Board(BoardId),
}

impl ChangeKind {
    /// What it means for rows that are there.
    pub fn impact(self) -> Impact {
        match self {
            ChangeKind::FieldFilled(_)
            | ChangeKind::ListAdded(_)
            | ChangeKind::ListRebuilt(_)
            | ChangeKind::ListRemoved
            | ChangeKind::UniqueAdded(_)
            | ChangeKind::UniqueRemoved
            | ChangeKind::ExpiryChanged
            | ChangeKind::NumberingChanged
            | ChangeKind::FacetsChanged(_)
            | ChangeKind::CountBuilt(_)
            | ChangeKind::CountRemoved
            | ChangeKind::BoardBuilt(_)
            | ChangeKind::BoardRemoved
            | ChangeKind::CombinationsChanged => Impact::Rows,
            ChangeKind::EntityAdded
            | ChangeKind::FieldAdded(_)
            | ChangeKind::FieldRelaxed(_)
            | ChangeKind::FieldTightened(_)
            | ChangeKind::ServiceChanged => Impact::Nothing,
        }
    }

    fn pending(self) -> Option<Pending> {
        match self {
            ChangeKind::ListAdded(list) | ChangeKind::ListRebuilt(list) => {
                Some(Pending::List(list))
            }
            ChangeKind::UniqueAdded(unique) => Some(Pending::Unique(unique)),
            ChangeKind::CountBuilt(count) => Some(Pending::Count(count)),
            ChangeKind::BoardBuilt(board) => Some(Pending::Board(board)),
            ChangeKind::EntityAdded
            | ChangeKind::FieldAdded(_)
            | ChangeKind::FieldFilled(_)
            | ChangeKind::FieldRelaxed(_)
            | ChangeKind::FieldTightened(_)
            | ChangeKind::ListRemoved
            | ChangeKind::UniqueRemoved
            | ChangeKind::ExpiryChanged
            | ChangeKind::ServiceChanged
            | ChangeKind::NumberingChanged
            | ChangeKind::FacetsChanged(_)
            | ChangeKind::CountRemoved
            | ChangeKind::BoardRemoved
            | ChangeKind::CombinationsChanged => None,
        }
    }
}

impl fmt::Display for Change {
    /// One line, without its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Evolution {
    /// A line for each change, and one for the backfills, which are one for each entity.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nothing() {
            return f.write_str("nothing changes");
        }
        for change in &self.changes {
            writeln!(f, "{change}")?;
        }
        match self.backfilled.as_slice() {
            [] => f.write_str("no backfill"),
            [entity] => write!(f, "1 backfill: `{entity}`"),
            entities => {
                write!(f, "{} backfills: {}", entities.len(), super::side::enumerate(entities))
            }
        }
    }
}
