//! A search through nodes: its direction, its budget and its cost. Nodes are called only through it, so
//! that their contract is asserted in one place.

use keyloom_model::Matching;
use keyloom_store::{Direction, ListSets, Members, ReadSet, SetName, Sets};

use super::{Batch, Node, NodeRef};
use crate::chunks::{ChunkView, ListSize, ViewReader};
use crate::hidden::Hidden;
use crate::posting_list::PostingList;
use crate::{Budget, Error, ReadCost, Reader};

/// A search for ordinals.
pub(crate) struct Search<'s> {
    pub(crate) reader: &'s Reader<'s>,
    pub(crate) direction: Direction,
    pub(crate) budget: Budget,
    /// Ordinals that do not count, where that matters before entities are fetched.
    pub(crate) hidden: &'s Hidden,
    pub(crate) cost: &'s mut ReadCost,
    /// The posting lists, where the store has no sets.
    pub(crate) view: &'s mut ChunkView,
}

impl<'s> Search<'s> {
    /// Returns the first ordinals of a node at or beyond one. There are some unless nothing is left,
    /// or the budget is spent.
    pub(crate) async fn next(&mut self, node: &dyn Node, from: u64) -> Result<Batch, Error> {
        let mut batch = node.next(self, from).await?;
        debug_assert!(self.is_in_order(from, &batch), "{from}: {batch:?} of {node:?}");
        // Nothing is beyond the last ordinal of all.
        batch.through = batch.through.filter(|through| self.after(*through).is_some());
        Ok(batch)
    }

    /// Returns the given ordinals that match a node.
    pub(crate) async fn retain(
        &mut self,
        node: &dyn Node,
        ordinals: Members,
    ) -> Result<Members, Error> {
        if ordinals.is_empty() {
            return Ok(ordinals);
        }
        let given = cfg!(debug_assertions).then(|| ordinals.clone());
        let kept = node.retain(self, ordinals).await?;
        debug_assert!(
            given.is_none_or(|given| kept.iter().all(|ordinal| given.contains(ordinal))),
            "more than was given: {node:?}"
        );
        Ok(kept)
    }

    /// Returns the given ordinals that match all of several nodes.
    pub(crate) async fn retain_all<'n>(
        &mut self,
        nodes: impl Iterator<Item = &'n NodeRef>,
        mut ordinals: Members,
    ) -> Result<Members, Error> {
        for node in nodes {
            ordinals = self.retain(&**node, ordinals).await?;
        }
        Ok(ordinals)
    }

    /// Whether a batch starts at or beyond an ordinal, and has no ordinals beyond its end.
    fn is_in_order(&self, from: u64, batch: &Batch) -> bool {
        let (first, last) = (batch.ordinals.first(), batch.ordinals.last());
        let through = batch.through;
        match self.direction {
            Direction::Forward => {
                first.is_none_or(|first| first >= from)
                    && through.is_none_or(|end| end >= from && last.is_none_or(|last| last <= end))
            }
            Direction::Backward => {
                last.is_none_or(|last| last <= from)
                    && through
                        .is_none_or(|end| end <= from && first.is_none_or(|first| first >= end))
            }
        }
    }

    /// Where to continue, if a batch is empty, more may follow, and the budget is not spent.
    pub(crate) fn next_if_empty(&self, batch: &Batch) -> Option<u64> {
        self.next_after(batch).filter(|_| batch.ordinals.is_empty() && !self.is_spent())
    }

    /// Where to continue after a batch.
    pub(crate) fn next_after(&self, batch: &Batch) -> Option<u64> {
        batch.through.and_then(|through| self.after(through))
    }

    /// Where a search begins.
    pub(crate) fn start(&self) -> u64 {
        match self.direction {
            Direction::Forward => 0,
            Direction::Backward => u64::MAX,
        }
    }

    /// The ordinal after one, in the direction of the search.
    pub(crate) fn after(&self, ordinal: u64) -> Option<u64> {
        match self.direction {
            Direction::Forward => ordinal.checked_add(1),
            Direction::Backward => ordinal.checked_sub(1),
        }
    }

    /// The first of some ordinals, in the direction of the search.
    pub(crate) fn first(&self, ordinals: &Members) -> Option<u64> {
        match self.direction {
            Direction::Forward => ordinals.first(),
            Direction::Backward => ordinals.last(),
        }
    }

    /// Drops the ordinals before one, in the direction of the search.
    pub(crate) fn drop_before(&self, ordinals: &mut Members, bound: u64) {
        ordinals.keep(match self.direction {
            Direction::Forward => bound..=u64::MAX,
            Direction::Backward => 0..=bound,
        });
    }

    /// Drops the ordinals beyond one, in the direction of the search.
    pub(crate) fn drop_beyond(&self, ordinals: &mut Members, bound: u64) {
        ordinals.keep(match self.direction {
            Direction::Forward => 0..=bound,
            Direction::Backward => bound..=u64::MAX,
        });
    }

    /// Whether the budget is spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.cost.rows >= self.budget.rows || self.cost.bytes >= self.budget.bytes
    }

    /// Removes ordinals that do not count as members of a posting list.
    pub(crate) fn leave_out(&self, list: &PostingList, ordinals: &mut Members) {
        if !self.hidden.is_empty() {
            let entity = self.reader.layout.model().entity(list.entity);
            self.hidden.leave_out(entity, list, ordinals);
        }
    }

    /// Whether a request costs little: a store with sets is in this process.
    pub(crate) fn is_local(&self) -> bool {
        self.sets().is_some()
    }

    /// Whether the store has columns, by which matches are put into the order of a list.
    pub(crate) fn has_columns(&self) -> bool {
        self.sets().is_some()
    }

    /// The sets that posting lists are kept as; none if they are rows.
    fn sets(&self) -> Option<&'s dyn Sets> {
        match self.reader.layout.matching() {
            Matching::Sets => self.reader.store.sets(),
            Matching::Chunks | Matching::Rows => None,
        }
    }

    fn chunks(&mut self) -> ViewReader<'_> {
        ViewReader { view: self.view, reader: self.reader, cost: self.cost }
    }

    /// Reads the sizes of posting lists.
    pub(crate) async fn sizes(&mut self, lists: &[PostingList]) -> Result<Vec<u64>, Error> {
        let Some(sets) = self.sets() else {
            let names: Vec<&[u8]> = lists.iter().map(|list| list.name.as_bytes()).collect();
            return self.chunks().sizes(&names).await;
        };
        let set = |list: &PostingList| SetName::new(list.name.as_bytes());
        let names: Result<Vec<SetName>, _> = lists.iter().map(set).collect();
        let names = names.map_err(keyloom_store::Error::from)?;
        self.cost.rows += names.len() as u64;
        Ok(sets.set_sizes(self.reader.table.clone(), names).await?)
    }

    /// Reads the next chunk of a posting list that has members, from an ordinal on. Returns them, and
    /// the last ordinal that was decided on; none if nothing is left.
    pub(super) async fn read_chunk(
        &mut self,
        list: &PostingList,
        from: u64,
    ) -> Result<(Members, Option<u64>), Error> {
        let (name, direction) = (list.name.as_bytes(), self.direction);
        let Some(sets) = self.sets() else {
            let part = self.chunks().read(name, from, direction).await?;
            return Ok((part.members, part.through));
        };
        let set = SetName::new(name).map_err(keyloom_store::Error::from)?;
        let read = ReadSet { table: self.reader.table.clone(), set, from, direction, chunks: 1 };
        let part = sets.read_set(read).await?;
        self.cost.rows += u64::from(part.chunks);
        self.cost.bytes += part.bytes;
        Ok((part.members, part.through))
    }

    /// Returns nonempty posting lists whose names are `base` and one part that begins with `begin`,
    /// in the order of the part, after one of them. Fewer than the limit only at the end.
    pub(crate) async fn list(
        &mut self,
        base: &[u8],
        begin: &[u8],
        after: Option<&[u8]>,
        limit: u32,
    ) -> Result<Vec<ListSize>, Error> {
        let Some(sets) = self.sets() else {
            return self.chunks().list(base, begin, after, limit as usize).await;
        };
        let set = |part: &[u8]| SetName::new([base, part].concat());
        let after = after.map(set).transpose().map_err(keyloom_store::Error::from)?;
        let (table, prefix) = (self.reader.table.clone(), [base, begin].concat());
        let list = ListSets { table, prefix, after, limit: limit.max(1) };
        let found = sets.list_sets(list).await?;
        self.cost.rows += found.len() as u64;
        let size = |found: keyloom_store::SetSize| ListSize {
            part: found.set.as_bytes().get(base.len()..).unwrap_or_default().to_vec(),
            size: found.members,
        };
        Ok(found.into_iter().map(size).collect())
    }
}
