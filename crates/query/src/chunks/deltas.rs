//! The deltas of a group: what writes have changed in posting lists and is not folded yet.

use std::collections::BTreeMap;
use std::time::Instant;

use futures_util::future::try_join_all;
use keyloom_model::{Chunk, Delta, Unreadable, attribute, ordinal_of};
use keyloom_store::Members;
use keyloom_value::KeyBytes;

use super::READ_MAX;
use crate::error::unreadable;
use crate::fetch::Rows;
use crate::partition::Partition;
use crate::span::Span;
use crate::{Error, ReadCost};

/// How many delta rows one request reads.
const PAGE_ROWS: usize = 1000;

/// What is not folded yet, by the name of the list.
#[derive(Debug, Default)]
pub(crate) struct Deltas(BTreeMap<Vec<u8>, ListDelta>);

/// What is not folded yet of one list.
#[derive(Debug, Default)]
pub(crate) struct ListDelta {
    joined: Members,
    left: Members,
}

impl Deltas {
    /// Reads all deltas in some partitions at once, as long as that takes no longer than a read may.
    /// They are not charged to the budget of a request, which is for results: writers wait when there
    /// are too many.
    pub(crate) async fn read(
        rows: Rows<'_>,
        partitions: &[KeyBytes],
        since: Instant,
    ) -> Result<Deltas, Error> {
        let read = partitions.iter().map(|partition| read_partition(rows, partition, since));
        let mut deltas = Deltas::default();
        for (ordinal, delta) in try_join_all(read).await?.iter().flatten() {
            deltas.add(*ordinal, delta);
        }
        Ok(deltas)
    }

    fn add(&mut self, ordinal: u64, delta: &Delta) {
        for (name, is_in) in delta.states() {
            let list = self.0.entry(name.to_vec()).or_default();
            match is_in {
                true => list.joined.insert(ordinal),
                false => list.left.insert(ordinal),
            };
        }
    }

    /// What is not folded yet of a list, if anything.
    pub(crate) fn of(&self, name: &[u8]) -> Option<&ListDelta> {
        self.0.get(name)
    }

    /// The names of lists that something has joined, from one on, in order.
    pub(crate) fn joined_from(&self, name: &[u8]) -> impl Iterator<Item = &[u8]> {
        let lists = self.0.range(name.to_vec()..);
        lists.filter(|(_, list)| !list.joined.is_empty()).map(|(name, _)| name.as_slice())
    }
}

impl ListDelta {
    /// The chunks with ordinals that have joined or left, ascending.
    pub(crate) fn chunks(&self) -> Vec<u64> {
        let mut chunks: Vec<u64> =
            self.joined.iter().chain(self.left.iter()).map(|o| o / Chunk::ORDINALS).collect();
        chunks.sort_unstable();
        chunks.dedup();
        chunks
    }

    /// The chunks with ordinals that have joined, ascending.
    pub(crate) fn joined_chunks(&self) -> Vec<u64> {
        let mut chunks: Vec<u64> = self.joined.iter().map(|o| o / Chunk::ORDINALS).collect();
        chunks.dedup();
        chunks
    }

    /// Applies what has joined and left within a chunk to its members.
    pub(crate) fn apply(&self, chunk: u64, members: &mut Members) {
        let first = chunk.saturating_mul(Chunk::ORDINALS);
        let range = first..=first.saturating_add(Chunk::ORDINALS - 1);
        let mut joined = self.joined.clone();
        joined.keep(range);
        members.or(&joined);
        members.and_not(&self.left);
    }
}

/// Reads the deltas in a partition, with their ordinals.
async fn read_partition(
    rows: Rows<'_>,
    partition: &KeyBytes,
    since: Instant,
) -> Result<Vec<(u64, Delta)>, Error> {
    let (partition, mut span) = (Partition::of_table(partition.as_bytes()), Span::ALL);
    let (mut deltas, mut cost) = (vec![], ReadCost::default());
    loop {
        let page = partition.first(&span, PAGE_ROWS).read(rows, &mut cost).await?;
        if since.elapsed() >= READ_MAX {
            return Err(Error::Unanswered { rows: page.items.len() });
        }
        for row in &page.items {
            let wrong = || unreadable(row, Unreadable { attribute: attribute::SORT });
            let ordinal = ordinal_of(partition.sort_of(row)?).ok_or_else(wrong)?;
            let delta = Delta::read(row).map_err(|reason| unreadable(row, reason))?;
            deltas.push((ordinal, delta));
        }
        let Some(last) = &page.last_key else { return Ok(deltas) };
        span = span.past(partition.sort_of(last)?);
    }
}
