//! Differences between two models, and what they mean for existing data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::{BoardId, CountId, EntityId, FieldId, ListId, Model, UniqueId};

use super::enumerate::enumerate;

/// All changes from one model to another; ids are those of the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evolution {
    changes: Vec<Change>,
    /// The names of the entities whose rows are rewritten, for `Display`.
    backfilled: Vec<String>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The entity that changed.
    pub entity: EntityId,
    /// What changed.
    pub kind: ChangeKind,
    pub(super) text: String,
}

/// What was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The entity is new, with everything declared on it. It has no data yet.
    EntityAdded,
    /// The entity has another name. Its rows are where they were.
    EntityRenamed,
    /// A new field, which existing entities lack.
    FieldAdded(FieldId),
    /// A new field, which is set to its default in existing entities.
    FieldFilled(FieldId),
    /// A field has another name. Its values are where they were.
    FieldRenamed(FieldId),
    /// A field was removed, with its values.
    FieldRemoved,
    /// A field accepts more values, or has a different default or rule for deletion.
    FieldRelaxed(FieldId),
    /// A field accepts fewer values: stored entities must be checked first.
    FieldTightened(FieldId),
    /// Values of a field are converted to another type: stored entities must be checked first.
    FieldConverted(FieldId),
    /// A new list.
    ListAdded(ListId),
    /// A different `by`, `order` or `where`, or an order by an enum whose members have moved.
    ListRebuilt(ListId),
    /// A list was removed.
    ListRemoved,
    /// A new unique.
    UniqueAdded(UniqueId),
    /// A unique was removed.
    UniqueRemoved,
    /// `expires` was added, removed, or names a different field.
    ExpiryChanged,
    /// A different path, different handlers, read-only fields, initial values, transitions or access rules, or another
    /// field for the time of the last change.
    ServiceChanged,
    /// Entities have ordinals, or no longer do, because tags or facets were added or removed. Lists
    /// order ties by ordinal.
    OrdinalsChanged,
    /// A list has different facets.
    FacetsChanged(ListId),
    /// A count is new or has a different definition.
    CountBuilt(CountId),
    /// A count was removed.
    CountRemoved,
    /// A board is new or has a different definition.
    BoardBuilt(BoardId),
    /// A board was removed.
    BoardRemoved,
    /// Different combinations of tags.
    CombinationsChanged,
    /// Different fields in `filters`.
    FiltersChanged,
    /// Different searches. Stored texts must not have too many words.
    SearchesChanged,
    /// Rows are spread over another number of partitions.
    ShardsChanged,
}

/// What a change means for existing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impact {
    /// They stay as they are.
    None,
    /// All rows of the entity must be rewritten.
    Rows,
}

impl Evolution {
    pub(super) fn new(changes: Vec<Change>, model: &Model) -> Evolution {
        let mut evolution = Evolution { changes, backfilled: vec![] };
        let entities = evolution.rewritten().into_keys();
        evolution.backfilled = entities.map(|id| model.entity(id).name.clone()).collect();
        evolution
    }

    /// Whether the models are equivalent.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Every change, in the order of the new model.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The entities whose rows must be rewritten, and the changes that require it.
    pub fn rewritten(&self) -> BTreeMap<EntityId, Vec<&Change>> {
        let mut rewritten: BTreeMap<EntityId, Vec<&Change>> = BTreeMap::new();
        for change in self.changes.iter().filter(|change| change.kind.impact() == Impact::Rows) {
            rewritten.entry(change.entity).or_default().push(change);
        }
        rewritten
    }

    /// The entities whose stored data may be invalid under the new model.
    pub fn tightened(&self) -> BTreeSet<EntityId> {
        let is_tightened = |change: &&Change| {
            matches!(
                change.kind,
                ChangeKind::FieldTightened(_)
                    | ChangeKind::FieldConverted(_)
                    | ChangeKind::SearchesChanged
            )
        };
        self.changes.iter().filter(is_tightened).map(|change| change.entity).collect()
    }

    /// The lists that are available only after the rows of their entity are rewritten.
    pub fn pending_lists(&self) -> impl Iterator<Item = (EntityId, ListId)> {
        self.pending().filter_map(|(entity, pending)| match pending {
            Pending::List(list) => Some((entity, list)),
            Pending::Unique(_) | Pending::Count(_) | Pending::Board(_) => None,
        })
    }

    /// The uniques that are enforced and can be queried only after the rows of their entity are
    /// rewritten.
    pub fn pending_uniques(&self) -> impl Iterator<Item = (EntityId, UniqueId)> {
        self.pending().filter_map(|(entity, pending)| match pending {
            Pending::Unique(unique) => Some((entity, unique)),
            Pending::List(_) | Pending::Count(_) | Pending::Board(_) => None,
        })
    }

    /// The counts that are available only after the rows of their entity are rewritten.
    pub fn pending_counts(&self) -> impl Iterator<Item = (EntityId, CountId)> {
        self.pending().filter_map(|(entity, pending)| match pending {
            Pending::Count(count) => Some((entity, count)),
            Pending::List(_) | Pending::Unique(_) | Pending::Board(_) => None,
        })
    }

    /// The boards that are available only after the rows of their entity are rewritten.
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

/// What is not available before the backfill is complete.
#[derive(Clone, Copy, Debug)]
enum Pending {
    List(ListId),
    Unique(UniqueId),
    Count(CountId),
    Board(BoardId),
}

impl ChangeKind {
    /// What it means for existing rows.
    pub fn impact(self) -> Impact {
        match self {
            ChangeKind::FieldFilled(_)
            | ChangeKind::FieldRemoved
            | ChangeKind::FieldConverted(_)
            | ChangeKind::ListAdded(_)
            | ChangeKind::ListRebuilt(_)
            | ChangeKind::ListRemoved
            | ChangeKind::UniqueAdded(_)
            | ChangeKind::UniqueRemoved
            | ChangeKind::ExpiryChanged
            | ChangeKind::OrdinalsChanged
            | ChangeKind::FacetsChanged(_)
            | ChangeKind::CountBuilt(_)
            | ChangeKind::CountRemoved
            | ChangeKind::BoardBuilt(_)
            | ChangeKind::BoardRemoved
            | ChangeKind::CombinationsChanged
            | ChangeKind::FiltersChanged
            | ChangeKind::SearchesChanged
            | ChangeKind::ShardsChanged => Impact::Rows,
            ChangeKind::EntityAdded
            | ChangeKind::EntityRenamed
            | ChangeKind::FieldAdded(_)
            | ChangeKind::FieldRenamed(_)
            | ChangeKind::FieldRelaxed(_)
            | ChangeKind::FieldTightened(_)
            | ChangeKind::ServiceChanged => Impact::None,
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
            | ChangeKind::EntityRenamed
            | ChangeKind::FieldAdded(_)
            | ChangeKind::FieldFilled(_)
            | ChangeKind::FieldRenamed(_)
            | ChangeKind::FieldRemoved
            | ChangeKind::FieldRelaxed(_)
            | ChangeKind::FieldTightened(_)
            | ChangeKind::FieldConverted(_)
            | ChangeKind::ListRemoved
            | ChangeKind::UniqueRemoved
            | ChangeKind::ExpiryChanged
            | ChangeKind::ServiceChanged
            | ChangeKind::OrdinalsChanged
            | ChangeKind::FacetsChanged(_)
            | ChangeKind::CountRemoved
            | ChangeKind::BoardRemoved
            | ChangeKind::CombinationsChanged
            | ChangeKind::FiltersChanged
            | ChangeKind::SearchesChanged
            | ChangeKind::ShardsChanged => None,
        }
    }
}

impl fmt::Display for Change {
    /// One line, without a line break.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Evolution {
    /// A line for each change, and one for the backfills, of which each entity has at most one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no changes");
        }
        for change in &self.changes {
            writeln!(f, "{change}")?;
        }
        match self.backfilled.as_slice() {
            [] => f.write_str("no backfill"),
            [entity] => write!(f, "1 backfill: `{entity}`"),
            entities => write!(f, "{} backfills: {}", entities.len(), enumerate(entities)),
        }
    }
}
