//! Index slots: secondary indexes of the table that the lists of all entities share.
//!
//! Each list of an entity has a slot of its own; lists of different entities share slots, in
//! partitions that name entity and list. An entity that is not in a list lacks the attributes of its
//! slot, so indexes are sparse. A list of all entities of a kind in order of creation is the list by
//! ordinal, where there is one, and shares its slot.

use std::collections::BTreeSet;

use keyloom_value::{Item, Name, Value};

use crate::model::{Board, Entity, List, ListId};

/// Maximum number of slots. Stores can have a lower limit: DynamoDB's tables have 20 global indexes.
pub(crate) const SLOTS_MAX: usize = 200;

/// The stored name of the list by time of expiry; no list can have it.
const EXPIRY: &str = "#expires";
/// The same for the list by ordinal.
const ORDINAL: &str = "#number";

/// Which lists with facets have a facet index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FacetIndexes {
    /// All of them.
    Every,
    /// Those that had one before: existing rows have no keys for the others.
    Kept,
}

/// The slots of the layout before, which the next one keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EarlierSlots<'i> {
    /// As [`super::Layout::slots`] returned them; empty if there was no layout before.
    pub(crate) slots: &'i Item,
    pub(crate) facet_indexes: FacetIndexes,
}

impl EarlierSlots<'_> {
    /// The index of the slot that an entity had under this name.
    fn find(&self, entity: &Entity, name: &str) -> Option<u8> {
        match self.slots.get(&entity.stored)? {
            Value::M(slots) => slots.get(name).and_then(slot_index),
            _ => None,
        }
    }
}

/// One secondary index of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub(crate) u8);

impl Slot {
    /// The slot with this index.
    pub fn new(index: u8) -> Slot {
        Slot(index)
    }

    /// Its index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The name of the index.
    pub fn name(self) -> String {
        format!("list-{}", self.0)
    }

    /// The attribute that is its partition key: bytes.
    pub fn partition(self) -> Name {
        Name::from(format!("L{}P", self.0))
    }

    /// The attribute that is its sort key: bytes.
    pub fn sort(self) -> Name {
        Name::from(format!("L{}S", self.0))
    }
}

/// Where the lists of one entity are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// In the order of the lists. One that has the slot of the list by ordinal is that list.
    pub(crate) lists: Vec<Slot>,
    /// The facet indexes, in the order of the lists.
    pub(crate) facets: Vec<Option<Slot>>,
    /// The indexes of boards that rank entities, in the order of the boards.
    pub(crate) boards: Vec<Option<Slot>>,
    /// The list by time of expiry.
    pub(crate) expiry: Option<Slot>,
    /// The list by ordinal.
    pub(crate) ordinal: Option<Slot>,
}

/// How many slots an entity needs.
pub(crate) fn needed(entity: &Entity) -> usize {
    let (expiry, ordinal) = (entity.expires.is_some(), entity.has_ordinals());
    let boards = entity.boards.iter().filter_map(board_name).count();
    let facets = entity.lists.iter().filter_map(facets_name).count();
    entity.lists.len() + facets + boards + usize::from(expiry) + usize::from(ordinal)
}

/// The stored name of a board that ranks entities; no list can have it. Other boards are not part of
/// entities' rows.
fn board_name(board: &Board) -> Option<String> {
    board.ranks_entities().then(|| format!("#board {}", board.name))
}

/// The stored name of the facet index of a list, if it has facets; no list can have it.
fn facets_name(list: &List) -> Option<String> {
    (!list.facets.is_empty()).then(|| format!("#facets {}", list.name))
}

impl Slots {
    /// Lists keep their slots; new ones take free slots. A list that moved would have to be rewritten.
    pub(crate) fn assign(entity: &Entity, earlier: &EarlierSlots<'_>) -> Slots {
        let kept = |name: &str| earlier.find(entity, name);
        let is_by_ordinal = |list: &List| entity.has_ordinals() && entity.is_whole(list);
        let kept_list = |list: &List| {
            // A list that is no longer the list by ordinal leaves its slot to that list.
            let is_other = |slot: &u8| is_by_ordinal(list) || kept(ORDINAL) != Some(*slot);
            kept(&list.name).filter(is_other)
        };
        let expires = entity.expires.map(|_| EXPIRY);
        let ordinal = entity.has_ordinals().then_some(ORDINAL);
        let boards: Vec<Option<String>> = entity.boards.iter().map(board_name).collect();
        let facets: Vec<Option<String>> = entity.lists.iter().map(facets_name).collect();
        let named = boards.iter().chain(&facets).flatten().map(String::as_str);
        let others = named.chain(expires).chain(ordinal).filter_map(kept);
        let mut taken: BTreeSet<u8> =
            entity.lists.iter().filter_map(kept_list).chain(others).collect();
        let mut free_or = |kept: Option<u8>| {
            let slot = kept.or_else(|| (0..=u8::MAX).find(|n| !taken.contains(n)));
            let slot = slot.unwrap_or(u8::MAX);
            taken.insert(slot);
            Slot(slot)
        };
        let mut by_ordinal = ordinal.and_then(kept);
        let lists = entity.lists.iter().map(|list| match kept_list(list) {
            None if is_by_ordinal(list) => {
                let slot = free_or(by_ordinal);
                by_ordinal = Some(slot.0);
                slot
            }
            kept => free_or(kept),
        });
        let lists = lists.collect();
        let mut named = |name: &str| free_or(kept(name));
        let boards = boards.iter().map(|name| name.as_deref().map(&mut named)).collect();
        let expiry = expires.map(&mut named);
        let is_indexed =
            |name: &&str| earlier.facet_indexes == FacetIndexes::Every || kept(name).is_some();
        let facet_slot = |name: &Option<String>| name.as_deref().filter(is_indexed).map(&mut named);
        let facets = facets.iter().map(facet_slot).collect();
        Slots { lists, facets, boards, expiry, ordinal: ordinal.map(|_| free_or(by_ordinal)) }
    }

    /// The stored form: the index of each slot by the name of its list.
    pub(crate) fn to_item(&self, entity: &Entity) -> Item {
        let lists = entity.lists.iter().map(|list| list.name.as_str()).zip(&self.lists);
        let expiry = self.expiry.iter().map(|slot| (EXPIRY, slot));
        let all = lists.chain(expiry).chain(self.ordinal.iter().map(|slot| (ORDINAL, slot)));
        let all = all.map(|(name, slot)| (Name::from(name), slot));
        let boards = entity.boards.iter().map(board_name).zip(&self.boards);
        let facets = entity.lists.iter().map(facets_name).zip(&self.facets);
        let named = boards.chain(facets);
        let named = named.filter_map(|(name, slot)| Some((Name::from(name?), slot.as_ref()?)));
        all.chain(named).map(|(name, slot)| (name, Value::from(i32::from(slot.0)))).collect()
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = Slot> {
        let named = self.boards.iter().chain(&self.facets).copied().flatten();
        self.lists.iter().copied().chain(named).chain(self.expiry).chain(self.ordinal)
    }

    /// Whether a list is the list by ordinal.
    pub(crate) fn is_by_ordinal(&self, list: ListId) -> bool {
        self.ordinal == Some(self.lists[list.index()])
    }
}

fn slot_index(value: &Value) -> Option<u8> {
    let index = value.as_n()?.to_i64()?;
    u8::try_from(index).ok().filter(|index| usize::from(*index) < SLOTS_MAX)
}
