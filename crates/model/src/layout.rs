//! The compiled model: where every entity, guard, link and list is kept in one table.
//!
//! A [`Layout`] says for each entity which rows it implies ([`Layout::rows`]), what a row is
//! ([`Layout::row_name`]), and where a question finds its answer.

pub mod attribute;
mod budget;
mod columns;
mod counter;
mod expiry;
mod facets;
mod image;
mod key;
mod matching;
mod pending;
mod rows;
mod slot;
mod template;

use keyloom_value::{Item, Name, Value};

use crate::model::{Entity, EntityId, FieldId, FieldType, List, ListId, Model, OnDelete, UniqueId};

pub(crate) use budget::{ROWS_MAX, rows_max};
pub use columns::Column;
pub use counter::{Counter, RankedPlace, is_counter};
pub use expiry::ExpiryDefault;
pub use image::{Image, OwnRow, Unreadable};
pub use key::{EntityKey, RowKey, RowName};
pub(crate) use matching::number_key;
pub use matching::{Group, Matching, entry_place, number_of};
pub use pending::Pending;
pub use rows::{KeyTooLong, Reason, Row};
pub use slot::Slot;
pub(crate) use slot::{FacetPlaces, SLOTS_MAX, Slots, needed as slots_needed};
pub use template::{KeyPart, KeyTemplate};

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

/// How one entity refers to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The entity that refers.
    pub owner: EntityId,
    /// With this field; the parent is one.
    pub field: FieldId,
    /// To this entity.
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
}

/// The attributes of own rows, made once: a name is cloned for every row.
#[derive(Clone, Debug)]
pub(crate) struct SystemNames {
    pub(crate) partition: Name,
    pub(crate) sort: Name,
    pub(crate) revision: Name,
    pub(crate) version: Name,
    pub(crate) number: Name,
}

#[derive(Clone, Debug)]
pub(crate) struct SlotNames {
    pub(crate) partition: Name,
    pub(crate) sort: Name,
}

impl Layout {
    /// Lays a model out. `slots` is what [`Layout::slots`] said of the layout before, if there was
    /// one: lists stay where they were.
    pub fn new(model: Model, revision: u32, slots: &Item) -> Layout {
        Layout::assign(model, revision, (slots, FacetPlaces::Every))
    }

    /// The layout that said this of its slots: rows of its revision are what it implies.
    pub fn reopen(model: Model, revision: u32, slots: &Item) -> Layout {
        Layout::assign(model, revision, (slots, FacetPlaces::Kept))
    }

    fn assign(model: Model, revision: u32, (slots, facet_places): (&Item, FacetPlaces)) -> Layout {
        let all_links: Vec<Link> = model.entities().flat_map(|(id, e)| links(id, e)).collect();
        let none = Item::new();
        let entity_layout = |(id, entity): (EntityId, &Entity)| {
            let before = match slots.get(&entity.name) {
                Some(Value::M(before)) => before,
                Some(_) | None => &none,
            };
            EntityLayout {
                slots: Slots::assign(entity, before, facet_places),
                guard_tags: entity.uniques().map(|(id, _)| guard_tag(entity, id)).collect(),
                links: all_links.iter().filter(|link| link.owner == id).copied().collect(),
                referrers: all_links.iter().filter(|link| link.target == id).copied().collect(),
                expiry_default: None,
            }
        };
        let entities: Vec<EntityLayout> = model.entities().map(entity_layout).collect();
        let used = entities.iter().flat_map(|entity| entity.slots.all());
        // What a board ranks by counts is in the first one.
        let is_ranked = model.entities().any(|(_, entity)| !entity.boards.is_empty());
        let count = used.map(|slot| slot.index() + 1).max().unwrap_or(0);
        let count = count.max(usize::from(is_ranked));
        let names = |slot: Slot| SlotNames { partition: slot.partition(), sort: slot.sort() };
        let slots = (0..u8::MAX).take(count).map(|number| names(Slot(number))).collect();
        let (matching, system) = (Matching::Sets, SystemNames::new());
        Layout { model, revision, matching, entities, system, slots }
    }

    /// The same with other means to keep lists that are combined: sets, if nothing is said.
    #[must_use]
    pub fn keeping(mut self, matching: Matching) -> Layout {
        self.matching = matching;
        self
    }

    /// How lists that are combined are kept.
    pub fn matching(&self) -> Matching {
        self.matching
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Which revision of the model it is; rows say under which they were written.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// The slots of all lists, to be kept for the layout after this one.
    pub fn slots(&self) -> Item {
        let entities = self.model.entities().zip(&self.entities);
        let slots = |((_, entity), layout): ((EntityId, &Entity), &EntityLayout)| {
            (Name::from(&entity.name), Value::M(layout.slots.to_item(entity)))
        };
        entities.map(slots).collect()
    }

    /// How many slots are used: the indexes that the table needs.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Where a list is.
    pub fn list_slot(&self, entity: EntityId, list: ListId) -> Slot {
        self.layout_of(entity).slots.lists[list.index()]
    }

    /// Where the entities of a list stand by the values of its facets, if it has facets.
    pub fn facet_slot(&self, entity: EntityId, list: ListId) -> Option<Slot> {
        self.layout_of(entity).slots.facets[list.index()]
    }

    /// Whether every list with facets has places for them. Rows of an earlier version of Keyloom
    /// have none.
    pub fn has_all_facet_slots(&self) -> bool {
        let lacks = |list: &List, slot: &Option<Slot>| !list.facets.is_empty() && slot.is_none();
        self.model.entities().zip(&self.entities).all(|((_, entity), layout)| {
            !entity.lists.iter().zip(&layout.slots.facets).any(|(list, slot)| lacks(list, slot))
        })
    }

    /// Where the list by time of expiry is, if entities of this kind expire.
    pub fn expiry_slot(&self, entity: EntityId) -> Option<Slot> {
        self.layout_of(entity).slots.expiry
    }

    /// What a unique is called: its fields, its scope and whether case is folded.
    pub fn unique_name(&self, entity: EntityId, unique: UniqueId) -> &str {
        &self.layout_of(entity).guard_tags[unique.index()]
    }

    /// How entities of a kind refer to others; to their parent first.
    pub fn links(&self, entity: EntityId) -> &[Link] {
        &self.layout_of(entity).links
    }

    /// How others refer to entities of a kind.
    pub fn referrers(&self, entity: EntityId) -> &[Link] {
        &self.layout_of(entity).referrers
    }

    /// The most rows that one change of an entity of a kind can touch.
    pub fn rows_max(&self, entity: EntityId) -> usize {
        let declared = self.model.entity(entity);
        match self.matching {
            // How many there are depends on its tags.
            Matching::Rows if declared.is_numbered() => ROWS_MAX,
            Matching::Rows | Matching::Sets => rows_max(declared),
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
            number: attribute::NUMBER.into(),
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

/// What a unique is called in keys: its meaning, so that another one never takes its place.
fn guard_tag(entity: &Entity, id: UniqueId) -> String {
    let unique = entity.unique(id);
    let names = unique.fields.iter().map(|field| entity.field(*field).name.as_str());
    let mut tag = names.collect::<Vec<_>>().join(",");
    if let Some(within) = unique.within {
        tag = format!("{tag} within {}", entity.field(within).name);
    }
    match unique.case {
        crate::model::CaseMode::Exact => tag,
        crate::model::CaseMode::Folded => format!("{tag} folded"),
    }
}
