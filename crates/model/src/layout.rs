//! The compiled model: where one table holds every entity, guard, link, list and counter.
//!
//! A [`Layout`] gives the rows that an entity implies ([`Layout::rows`]), the meaning of a row
//! ([`Layout::row_name`]), and, through one type for each kind of key, where a query finds its
//! result.

mod amount;
pub mod attribute;
mod budget;
mod chunk_rows;
mod chunks;
mod columns;
mod counter;
mod counts;
mod expiry;
mod facets;
mod filter_indexes;
mod image;
mod key;
mod key_part;
mod leaderboards;
mod lists;
mod matching;
mod ordinals;
mod pending;
mod posting_reason;
mod postings;
mod references;
mod row_name;
mod rows;
mod sequences;
mod shards;
mod slices;
mod slot;
mod template;
mod uniques;

use std::collections::{BTreeMap, BTreeSet};

use keyloom_value::{Item, Name, Value};

use crate::model::{Entity, EntityId, FieldId, FieldType, Model, OnDelete, UniqueId};

pub use amount::{Amount, SumTooLong};
pub(crate) use budget::{ROWS_MAX, rows_max};
pub use chunk_rows::{Chunk, Delta, DeltaChange, Directory};
pub use chunks::ChunkKeys;
pub use columns::Column;
pub use counter::{Addend, Counter, CounterKeys, RankedKey, is_counter};
pub use counts::{Breakdown, CountKeys};
pub use expiry::{ExpiryDefault, ExpiryKeys};
pub use facets::FacetKeys;
pub use filter_indexes::FilterIndex;
pub use image::{Image, OwnRow, Unreadable};
pub use key::{EntityKey, IndexKey, RowKey};
pub use key_part::KeyTooLong;
pub use leaderboards::LeaderboardKeys;
pub use lists::ListKeys;
pub use matching::Matching;
pub use ordinals::{OrdinalKeys, ordinal_of};
pub use pending::Pending;
pub use postings::{PostingKey, PostingLists, posting_row_prefix};
pub use references::References;
pub use row_name::RowName;
pub use rows::{Reason, Row};
pub use slices::SliceBits;
pub use slot::Slot;
pub(crate) use slot::{EarlierSlots, FacetIndexes, SLOTS_MAX, Slots, needed as slots_needed};
pub use template::{KeyPart, KeyTemplate, KeyTemplates};
pub use uniques::UniqueKeys;

/// A model laid out in one table.
#[derive(Clone, Debug)]
pub struct Layout {
    model: Model,
    revision: u32,
    matching: Matching,
    entities: Vec<EntityLayout>,
    system: SystemNames,
    slots: Vec<SlotNames>,
}

/// How one kind of entity refers to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The kind that refers.
    pub owner: EntityId,
    /// The field that refers; the parent is one.
    pub field: FieldId,
    /// The kind it refers to.
    pub target: EntityId,
    /// What happens to the owner when the target is deleted.
    pub on_delete: OnDelete,
}

#[derive(Clone, Debug)]
pub(crate) struct EntityLayout {
    pub(crate) slots: Slots,
    pub(crate) guard_tags: Vec<String>,
    /// To others, the parent first.
    pub(crate) links: Vec<Link>,
    /// From others.
    pub(crate) referrers: Vec<Link>,
    pub(crate) expiry_default: Option<ExpiryDefault>,
    /// The numbers of shards that references to it had under earlier revisions.
    pub(crate) earlier_reference_shards: Vec<u32>,
    /// The indexes for filters that lack entities which earlier revisions have placed.
    pub(crate) unbuilt: BTreeSet<FilterIndex>,
    /// The fields by their names in rows, if some of these differ from theirs.
    pub(crate) names_in_rows: Option<BTreeMap<Name, Name>>,
}

/// The attributes of own rows, made once: a name is cloned for every row.
#[derive(Clone, Debug)]
pub(crate) struct SystemNames {
    pub(crate) partition: Name,
    pub(crate) sort: Name,
    pub(crate) revision: Name,
    pub(crate) version: Name,
    pub(crate) ordinal: Name,
}

#[derive(Clone, Debug)]
pub(crate) struct SlotNames {
    pub(crate) partition: Name,
    pub(crate) sort: Name,
}

impl Layout {
    /// Lays a model out. `slots` is what [`Layout::slots`] returned of the layout before, if there was
    /// one: lists stay in their indexes.
    pub fn new(model: Model, revision: u32, slots: &Item) -> Layout {
        Layout::assign(model, revision, &EarlierSlots { slots, facet_indexes: FacetIndexes::Every })
    }

    /// Rebuilds the layout that returned these slots: it implies the rows of its revision.
    pub fn reopen(model: Model, revision: u32, slots: &Item) -> Layout {
        Layout::assign(model, revision, &EarlierSlots { slots, facet_indexes: FacetIndexes::Kept })
    }

    fn assign(model: Model, revision: u32, earlier: &EarlierSlots<'_>) -> Layout {
        let all_links: Vec<Link> = model.entities().flat_map(|(id, e)| links(id, e)).collect();
        let entity_layout = |(id, entity): (EntityId, &Entity)| EntityLayout {
            slots: Slots::assign(entity, earlier),
            guard_tags: entity.uniques().map(|(id, _)| guard_tag(entity, id)).collect(),
            links: all_links.iter().filter(|link| link.owner == id).copied().collect(),
            referrers: all_links.iter().filter(|link| link.target == id).copied().collect(),
            expiry_default: None,
            earlier_reference_shards: vec![],
            unbuilt: BTreeSet::new(),
            names_in_rows: names_in_rows(entity),
        };
        let entities: Vec<EntityLayout> = model.entities().map(entity_layout).collect();
        let used = entities.iter().flat_map(|entity| entity.slots.all());
        // Leaderboards that rank by counts are in the first one.
        let is_ranked = model.entities().any(|(_, entity)| !entity.boards.is_empty());
        let count = used.map(|slot| slot.index() + 1).max().unwrap_or(0);
        let count = count.max(usize::from(is_ranked));
        let names = |slot: Slot| SlotNames { partition: slot.partition(), sort: slot.sort() };
        let slots = (0..u8::MAX).take(count).map(|index| names(Slot(index))).collect();
        let (matching, system) = (Matching::Sets, SystemNames::new());
        Layout { model, revision, matching, entities, system, slots }
    }

    /// Stores posting lists in another way; the default is sets.
    #[must_use]
    pub fn keeping(mut self, matching: Matching) -> Layout {
        self.matching = matching;
        self
    }

    /// How posting lists are stored.
    pub fn matching(&self) -> Matching {
        self.matching
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The revision of the model; each row records the one it was written under.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// The slots of all lists, to be stored for the next layout.
    pub fn slots(&self) -> Item {
        let entities = self.model.entities().zip(&self.entities);
        let slots = |((_, entity), layout): ((EntityId, &Entity), &EntityLayout)| {
            (Name::from(&entity.stored), Value::M(layout.slots.to_item(entity)))
        };
        entities.map(slots).collect()
    }

    /// How many slots are used: the indexes that the table needs.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Keys of lists.
    pub fn lists(&self) -> ListKeys<'_> {
        ListKeys::new(self)
    }

    /// Keys of facet indexes.
    pub fn facets(&self) -> FacetKeys<'_> {
        FacetKeys::new(self)
    }

    /// Keys of the index by time of expiry.
    pub fn expiry(&self) -> ExpiryKeys<'_> {
        ExpiryKeys::new(self)
    }

    /// Keys of ordinals.
    pub fn ordinals(&self) -> OrdinalKeys<'_> {
        OrdinalKeys::new(self)
    }

    /// Names and rows of posting lists.
    pub fn postings(&self) -> PostingLists<'_> {
        PostingLists::new(self)
    }

    /// Keys of the rows of posting lists where the store has no sets.
    pub fn chunks(&self) -> ChunkKeys<'_> {
        ChunkKeys::new(self)
    }

    /// The counters that entities add to.
    pub fn counters(&self) -> CounterKeys<'_> {
        CounterKeys::new(self)
    }

    /// Keys of declared counts.
    pub fn counts(&self) -> CountKeys<'_> {
        CountKeys::new(self)
    }

    /// Keys of leaderboards.
    pub fn leaderboards(&self) -> LeaderboardKeys<'_> {
        LeaderboardKeys::new(self)
    }

    /// References between entities, and the keys of their rows.
    pub fn references(&self) -> References<'_> {
        References::new(self)
    }

    /// Keys of guards.
    pub fn uniques(&self) -> UniqueKeys<'_> {
        UniqueKeys::new(self)
    }

    /// How keys are built, for people to read.
    pub fn templates(&self) -> KeyTemplates<'_> {
        KeyTemplates::new(self)
    }

    /// The most rows that one change of an entity of a kind can touch.
    pub fn rows_max(&self, entity: EntityId) -> usize {
        let declared = self.model.entity(entity);
        match self.matching {
            // How many there are depends on its tags.
            Matching::Rows if declared.has_ordinals() => ROWS_MAX,
            // The row of its ordinal, and its delta.
            Matching::Chunks if declared.has_ordinals() => rows_max(declared) + 2,
            Matching::Rows | Matching::Chunks | Matching::Sets => rows_max(declared),
        }
    }

    pub(crate) fn layout_of(&self, entity: EntityId) -> &EntityLayout {
        &self.entities[entity.index()]
    }

    pub(crate) fn system_names(&self) -> &SystemNames {
        &self.system
    }

    pub(crate) fn slot_names(&self, slot: Slot) -> &SlotNames {
        &self.slots[slot.index()]
    }
}

impl SystemNames {
    fn new() -> SystemNames {
        SystemNames {
            partition: attribute::PARTITION.into(),
            sort: attribute::SORT.into(),
            revision: attribute::REVISION.into(),
            version: attribute::VERSION.into(),
            ordinal: attribute::ORDINAL.into(),
        }
    }
}

fn links(owner: EntityId, entity: &Entity) -> Vec<Link> {
    let link = |(field, declared): (FieldId, &crate::model::Field)| match declared.of {
        FieldType::Ref(target, on_delete) => Some(Link { owner, field, target, on_delete }),
        _ => None,
    };
    entity.fields().filter_map(link).collect()
}

/// The name of a unique in keys: what it means, so that no other unique ever shares it.
fn names_in_rows(entity: &Entity) -> Option<BTreeMap<Name, Name>> {
    let names = entity.fields.iter();
    let names = names.map(|field| (Name::from(&field.stored), Name::from(&field.name)));
    entity.has_other_names().then(|| names.collect())
}

fn guard_tag(entity: &Entity, id: UniqueId) -> String {
    let unique = entity.unique(id);
    let names = entity.select(&unique.fields).map(|field| field.stored.as_str());
    let mut tag = names.collect::<Vec<_>>().join(",");
    if let Some(within) = unique.within {
        tag = format!("{tag} within {}", entity.field(within).stored);
    }
    match unique.case {
        crate::model::CaseMode::Exact => tag,
        crate::model::CaseMode::Folded => format!("{tag} folded"),
    }
}
