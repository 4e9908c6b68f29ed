//! Posting lists in a store, in both forms, trees over them, and what they match according to a
//! naive filter of all ordinals.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use keyloom_model::{Chunk, ChunkKeys, DeltaChange, Directory, Layout, Matching, PostingKey};
use keyloom_store::{
    Direction, KeySchema, KeyType, Membership, MemoryStore, Put, ReadSet, SetChange, SetName,
    Store, SystemClock, TableName, TableSpec, TransactWrite, UpdateItem,
};
use keyloom_value::{Item, Number};
use pollster::block_on;
use proptest::prelude::*;

use crate::chunks::ChunkView;
use crate::hidden::Hidden;
use crate::nodes::{
    Batch, Difference, Intersection, Node, NodeRef, PostingSet, Search, Sizes, SliceRange, Union,
};
use crate::posting_list::{PostingList, PostingOwner};
use crate::{Budget, Metered, ReadCost, Reader, ValueRange};

const MODEL: &str = "[entity.task]\nfields.tags = \"tags\"\n";

/// A tree of nodes over posting lists.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A posting list.
    List(usize),
    All(Vec<Shape>),
    Any(Vec<Shape>),
    Without(Box<Shape>, Vec<Shape>),
    /// A range of numbers, by ordinal. The first list is what has one, the others are its slices.
    Range(ValueRange, Arc<BTreeMap<u64, Number>>),
}

impl Shape {
    fn has(&self, lists: &[BTreeSet<u64>], ordinal: u64) -> bool {
        let has = |shape: &Shape| shape.has(lists, ordinal);
        match self {
            Shape::List(list) => lists[*list].contains(&ordinal),
            Shape::All(parts) => parts.iter().all(has),
            Shape::Any(parts) => parts.iter().any(has),
            Shape::Without(of, excluded) => has(of) && !excluded.iter().any(has),
            Shape::Range(range, numbers) => {
                let number = numbers.get(&ordinal).filter(|_| lists[0].contains(&ordinal));
                number.is_some_and(|number| range.contains(number))
            }
        }
    }

    /// All ordinals that match.
    pub(super) fn matches(&self, lists: &[BTreeSet<u64>]) -> BTreeSet<u64> {
        let all: BTreeSet<u64> = lists.iter().flatten().copied().collect();
        all.into_iter().filter(|ordinal| self.has(lists, *ordinal)).collect()
    }
}

/// The direction and the budget of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub(super) direction: Direction,
    pub(super) budget: Budget,
}

impl How {
    pub(super) fn unlimited(direction: Direction) -> How {
        How { direction, budget: Budget { rows: u64::MAX, bytes: u64::MAX } }
    }
}

/// How many chunks some ordinals are in.
pub(super) fn chunks(ordinals: &BTreeSet<u64>) -> u64 {
    let chunks: BTreeSet<u64> = ordinals.iter().map(|o| o / ReadSet::CHUNK_ORDINALS).collect();
    chunks.len() as u64
}

/// Posting lists in a store that counts what is read of it.
pub(super) struct Rig {
    store: Arc<MemoryStore>,
    table: TableName,
    layout: Layout,
    form: Matching,
    /// The members of each list, without hidden ones.
    lists: Vec<BTreeSet<u64>>,
    hidden: Hidden,
}

impl Rig {
    pub(super) fn new(form: Matching, lists: &[BTreeSet<u64>]) -> Rig {
        let model = keyloom_model::check(MODEL).unwrap();
        let layout = Layout::new(model, 1, &Item::new()).keeping(form);
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let table = TableName::new("data").unwrap();
        let key = KeySchema::partition("PK", KeyType::B).and_sort("SK", KeyType::B);
        block_on(store.create_table(TableSpec::new(table.clone(), key))).unwrap();
        let (lists, hidden) = (lists.to_vec(), Hidden::default());
        let rig = Rig { store, table, layout, form, lists, hidden };
        for (index, ordinals) in rig.lists.iter().enumerate() {
            match form {
                Matching::Sets => rig.put_set(index, ordinals),
                Matching::Chunks | Matching::Rows => rig.put_chunks(index, ordinals),
            }
        }
        rig
    }

    /// Hides ordinals from all lists. They stay stored.
    pub(super) fn hide(&mut self, ordinals: &BTreeSet<u64>) {
        self.hidden = Hidden::in_all(ordinals.iter().copied().collect());
        for list in &mut self.lists {
            list.retain(|ordinal| !ordinals.contains(ordinal));
        }
    }

    fn list(&self, index: usize) -> PostingList {
        let entity = self.layout.model().find("task").unwrap();
        let field = self.layout.model().entity(entity).find_field("tags").unwrap();
        let owner = PostingOwner { layout: &self.layout, entity, tenant: None };
        owner.list(&PostingKey::Tag(field, "key", &index.to_string())).unwrap()
    }

    fn put_set(&self, index: usize, ordinals: &BTreeSet<u64>) {
        let change = SetChange {
            table: self.table.clone(),
            set: SetName::new(self.list(index).name.as_bytes()).unwrap(),
            ordinals: ordinals.iter().copied().collect(),
            becomes: Membership::In,
        };
        let transaction = TransactWrite { sets: vec![change], ..TransactWrite::default() };
        block_on(self.store.transact_write(transaction)).unwrap();
    }

    /// Writes a list as chunks and deltas. What an ordinal has gone through depends on it and on the
    /// list: it is folded; or not yet; or folded, but its delta is still there; or it has left and
    /// joined again; and some that are in a chunk have left.
    fn put_chunks(&self, index: usize, ordinals: &BTreeSet<u64>) {
        let name = self.list(index).name.into_vec();
        let mut folded: BTreeSet<u64> = ordinals.clone();
        let change = |joined: bool| DeltaChange {
            stamp: String::new(),
            joined: joined.then(|| name.clone()).into_iter().collect(),
            left: (!joined).then(|| name.clone()).into_iter().collect(),
        };
        for ordinal in ordinals {
            match (ordinal + index as u64) % 5 {
                0 | 1 => {}
                2 => {
                    folded.remove(ordinal);
                    self.append(*ordinal, &change(true));
                }
                3 => self.append(*ordinal, &change(true)),
                _ => {
                    self.append(*ordinal, &change(false));
                    self.append(*ordinal, &change(true));
                }
            }
        }
        for left in ordinals.iter().map(|ordinal| ordinal + 1).filter(|o| o % 7 == 0) {
            if !ordinals.contains(&left) {
                folded.insert(left);
                self.append(left, &change(false));
            }
        }
        let mut chunks: BTreeMap<u64, Chunk> = BTreeMap::new();
        for ordinal in folded {
            let chunk = chunks.entry(ordinal / Chunk::ORDINALS).or_default();
            chunk.members.push(u16::try_from(ordinal % Chunk::ORDINALS).unwrap());
        }
        let counts = chunks.iter().map(|(chunk, of)| (*chunk, of.members.len() as u32)).collect();
        for (chunk, of) in chunks {
            self.put(of.row(&ChunkKeys::chunk_key(&name, chunk)));
        }
        let directory = Directory { version: String::new(), counts };
        self.put(directory.row(&ChunkKeys::directory_key(&name)));
    }

    fn append(&self, ordinal: u64, change: &DeltaChange) {
        let entity = self.layout.model().find("task").unwrap();
        let key = self.layout.chunks().delta_key(entity, None, ordinal);
        let update = UpdateItem::new(&self.table, key.to_item(), change.append());
        block_on(self.store.update(update)).unwrap();
    }

    fn put(&self, row: Item) {
        block_on(self.store.put(Put::new(&self.table, row))).unwrap();
    }

    fn node(&self, shape: &Shape) -> NodeRef {
        let all = |parts: &[Shape]| parts.iter().map(|part| self.node(part)).collect::<Vec<_>>();
        match shape {
            Shape::List(list) => PostingSet::new(self.list(*list), Sizes::UNKNOWN).shared(),
            Shape::All(parts) => Intersection::of(all(parts)).unwrap(),
            Shape::Any(parts) => Union::of(all(parts)).unwrap(),
            Shape::Without(of, excluded) => Difference::of(self.node(of), all(excluded)),
            Shape::Range(range, _) => {
                let bounds = range.slice_bounds();
                let slices = (1..=usize::from(bounds.slices())).map(|list| self.list(list));
                SliceRange::new(self.list(0), slices.collect(), bounds, String::new()).shared()
            }
        }
    }

    /// The node as plans run it: with sizes. None if nothing can match.
    pub(super) fn sized(&self, shape: &Shape) -> Option<NodeRef> {
        let node = self.node(shape);
        let mut lists = vec![];
        node.posting_lists(&mut lists);
        let (mut cost, mut view) = (ReadCost::default(), self.view());
        let (reader, how) = (self.reader(&*self.store), How::unlimited(Direction::Forward));
        let mut search = self.search(&reader, how, &mut cost, &mut view);
        let sizes = block_on(search.sizes(&lists)).unwrap();
        node.sized(&Sizes::new(&lists, sizes))
    }

    fn reader<'r>(&'r self, store: &'r dyn keyloom_store::Read) -> Reader<'r> {
        Reader { store, table: &self.table, layout: &self.layout, now_ms: 0, noted: None }
    }

    fn search<'s>(
        &'s self,
        reader: &'s Reader<'s>,
        how: How,
        cost: &'s mut ReadCost,
        view: &'s mut ChunkView,
    ) -> Search<'s> {
        let How { direction, budget } = how;
        Search { reader, direction, budget, hidden: &self.hidden, cost, view }
    }

    fn view(&self) -> ChunkView {
        ChunkView::new(self.layout.model().find("task").unwrap(), None)
    }

    /// Reads a node from a position to its end, and compares every batch with the naive filter.
    /// Returns how many rows or chunks were read.
    pub(super) fn check_next(
        &self,
        shape: &Shape,
        from: u64,
        how: How,
    ) -> Result<u64, TestCaseError> {
        let matching = shape.matches(&self.lists);
        let Some(node) = self.sized(shape) else {
            prop_assert_eq!(matching, BTreeSet::new());
            return Ok(0);
        };
        let metered = Metered::new(self.store.clone());
        let (reader, mut cost) = (self.reader(&metered), ReadCost::default());
        let mut view = self.view();
        let mut search = self.search(&reader, how, &mut cost, &mut view);
        let mut from = Some(from);
        // Each batch decides on one ordinal at least that some list has.
        let mut batches_left = 2 + 5 * 260;
        while let Some(start) = from {
            prop_assert!(batches_left > 0, "does not end");
            batches_left -= 1;
            let batch = block_on(search.next(&*node, start)).unwrap();
            let found: Vec<u64> = batch.ordinals.iter().collect();
            let expected: Vec<u64> =
                matching.range(decided(start, &batch, how.direction)).copied().collect();
            prop_assert_eq!(found, expected, "from {} in {:?}", start, self.form);
            let goes_on = batch.ordinals.is_empty() && batch.through.is_some();
            prop_assert!(
                !goes_on || search.is_spent() || !self.hidden.is_empty(),
                "empty from {} in {:?}",
                start,
                self.form
            );
            from = search.next_after(&batch);
        }
        counted(&metered, cost)
    }

    /// Lets a node retain some ordinals, and compares them with the naive filter. Returns how many
    /// rows or chunks were read.
    pub(super) fn check_retain(
        &self,
        shape: &Shape,
        given: &BTreeSet<u64>,
        how: How,
    ) -> Result<u64, TestCaseError> {
        let matching = shape.matches(&self.lists);
        let Some(node) = self.sized(shape) else {
            prop_assert_eq!(matching, BTreeSet::new());
            return Ok(0);
        };
        let metered = Metered::new(self.store.clone());
        let (reader, mut cost) = (self.reader(&metered), ReadCost::default());
        let mut view = self.view();
        let mut search = self.search(&reader, how, &mut cost, &mut view);
        let kept = block_on(search.retain(&*node, given.iter().copied().collect())).unwrap();
        let expected: Vec<u64> = given.intersection(&matching).copied().collect();
        prop_assert_eq!(kept.iter().collect::<Vec<_>>(), expected, "{:?}", self.form);
        counted(&metered, cost)
    }
}

/// The ordinals that a batch decides on, which was read from a position.
fn decided(from: u64, batch: &Batch, direction: Direction) -> RangeInclusive<u64> {
    match direction {
        Direction::Forward => from..=batch.through.unwrap_or(u64::MAX),
        Direction::Backward => batch.through.unwrap_or(0)..=from,
    }
}

/// Checks that everything that was read of the store was added to the cost, but for deltas, which are
/// what is queried.
fn counted(metered: &Metered<MemoryStore>, cost: ReadCost) -> Result<u64, TestCaseError> {
    let reads = metered.reads();
    let rows = reads.iter().filter(|read| read.call != "query").map(|read| read.rows).sum::<u64>();
    prop_assert_eq!(cost.rows, rows);
    Ok(rows)
}
