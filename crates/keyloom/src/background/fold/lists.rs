//! Folds deltas into the chunks of lists, a few lists at a time.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use keyloom_model::attribute::PARTITION;
use keyloom_model::{Chunk, ChunkKeys, Delta, Directory, RowKey};
use keyloom_store::{
    BatchGet, Delete, Error as StoreError, Get, Put, TransactAction, TransactWrite,
};
use keyloom_value::{Condition, Item, Path, Value};

use super::{Group, TOGETHER, read_delta};
use crate::error::Error;
use crate::write::ACTIONS_MAX;

/// How many rows one request reads.
const BATCH_MAX: usize = 100;
/// How often in a row a store may return nothing.
const IDLE_ROUNDS_MAX: usize = 8;
/// How many chunks one transaction writes, at most: a chunk takes up to 8 KB, a transaction 4 MB.
const CHUNKS_MAX: usize = ACTIONS_MAX - 1;

/// Folds what was seen of a group.
pub(super) struct ListFold<'f> {
    pub(super) group: &'f Group<'f>,
    /// The deltas, as far as they are to be folded.
    pub(super) seen: &'f BTreeMap<u64, Delta>,
}

/// The ordinals whose membership in a list has changed, by chunk.
type Touched<'f> = BTreeMap<u64, BTreeSet<u64>>;

/// A part of a list that one transaction folds.
struct Part<'f> {
    list: &'f [u8],
    touched: Touched<'f>,
}

impl ListFold<'_> {
    /// Folds all lists. Returns the deltas all of whose lists were folded, as they are now.
    pub(super) async fn run(&self) -> Result<BTreeMap<u64, Delta>, Error> {
        let (mut folded, mut left) = (BTreeMap::new(), BTreeSet::new());
        let lists = self.lists();
        for some in lists.chunks(TOGETHER) {
            for parts in try_join_all(some.iter().map(|parts| self.fold_list(parts))).await? {
                for (ordinals, now) in parts {
                    let now = now.unwrap_or_default();
                    left.extend(ordinals.into_iter().filter(|ordinal| !now.contains_key(ordinal)));
                    for (ordinal, delta) in now {
                        keep_newer(&mut folded, ordinal, delta);
                    }
                }
            }
        }
        folded.retain(|ordinal, _| !left.contains(ordinal));
        Ok(folded)
    }

    /// Folds a list, part by part: all parts write the same directory. Returns the ordinals of each
    /// part, and what [`ListFold::fold`] returned.
    async fn fold_list(
        &self,
        parts: &[Part<'_>],
    ) -> Result<Vec<(BTreeSet<u64>, Option<BTreeMap<u64, Delta>>)>, Error> {
        let mut folded = vec![];
        for part in parts {
            let ordinals = part.touched.values().flatten().copied().collect();
            folded.push((ordinals, self.fold(part).await?));
        }
        Ok(folded)
    }

    /// The lists that deltas mention, each in parts that fit into a transaction.
    fn lists(&self) -> Vec<Vec<Part<'_>>> {
        let mut lists: BTreeMap<&[u8], Touched<'_>> = BTreeMap::new();
        for (ordinal, delta) in self.seen {
            for list in delta.states().into_keys() {
                let touched = lists.entry(list).or_default();
                touched.entry(ordinal / Chunk::ORDINALS).or_default().insert(*ordinal);
            }
        }
        let split = |(list, touched): (_, Touched<'_>)| {
            let chunks: Vec<_> = touched.into_iter().collect();
            let part = |some: &[(u64, BTreeSet<u64>)]| Part {
                list,
                touched: some.iter().cloned().collect(),
            };
            chunks.chunks(CHUNKS_MAX).map(part).collect::<Vec<_>>()
        };
        lists.into_iter().map(split).collect()
    }

    /// Folds a part of a list. Returns the deltas that it has read; none if another process folds the
    /// list at the same time.
    async fn fold(&self, part: &Part<'_>) -> Result<Option<BTreeMap<u64, Delta>>, Error> {
        let key = ChunkKeys::directory_key(part.list);
        let before = self.rows(std::slice::from_ref(&key)).await?.pop().flatten();
        let before = before.as_ref().map(Directory::read).transpose();
        let before = before.map_err(|_| damaged("directory"))?;
        let chunks = self.chunks(part).await?;
        // After the chunks: what they lack of it is appended by later writes.
        let deltas = self.deltas(part).await?;
        let mut after = Directory {
            version: self.group.shared.stamps.next()?,
            counts: before.as_ref().map(|before| before.counts.clone()).unwrap_or_default(),
        };
        let mut actions = vec![];
        for (chunk, members) in self.changed(part, chunks, &deltas) {
            let count = u32::try_from(members.members.len()).unwrap_or(u32::MAX);
            actions.push(self.write_chunk(&ChunkKeys::chunk_key(part.list, chunk), &members));
            match count {
                0 => after.counts.remove(&chunk),
                _ => after.counts.insert(chunk, count),
            };
        }
        if actions.is_empty() {
            return Ok(Some(deltas));
        }
        actions.push(self.write_directory(&key, before.as_ref(), &after));
        match self.group.shared.store.transact_write(TransactWrite::new(actions)).await {
            Ok(()) => Ok(Some(deltas)),
            Err(StoreError::Canceled { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the touched chunks of a list.
    async fn chunks(&self, part: &Part<'_>) -> Result<BTreeMap<u64, Chunk>, Error> {
        let key = |chunk: &u64| ChunkKeys::chunk_key(part.list, *chunk);
        let keys: Vec<RowKey> = part.touched.keys().map(key).collect();
        let rows = self.rows(&keys).await?;
        let read = |(chunk, row): (&u64, Option<Item>)| {
            let members = row.as_ref().map(Chunk::read).transpose();
            members.map(|members| (*chunk, members.unwrap_or_default()))
        };
        let chunks = part.touched.keys().zip(rows).map(read);
        chunks.collect::<Result<_, _>>().map_err(|_| damaged("chunk"))
    }

    /// Reads the deltas of the touched ordinals again. One that others have folded as far is left out.
    async fn deltas(&self, part: &Part<'_>) -> Result<BTreeMap<u64, Delta>, Error> {
        let ordinals = part.touched.values().flatten();
        let keys: Vec<RowKey> = ordinals.map(|ordinal| self.group.delta_key(*ordinal)).collect();
        let rows = self.rows(&keys).await?;
        let deltas: BTreeMap<u64, Delta> =
            rows.iter().flatten().map(read_delta).collect::<Result<_, Error>>()?;
        let is_left = |(ordinal, delta): &(u64, Delta)| {
            let seen = self.seen.get(ordinal).and_then(Delta::last);
            delta.changes.iter().any(|change| Some(change.stamp.as_str()) == seen)
        };
        Ok(deltas.into_iter().filter(is_left).collect())
    }

    /// The chunks that differ when the deltas are applied.
    fn changed(
        &self,
        part: &Part<'_>,
        chunks: BTreeMap<u64, Chunk>,
        deltas: &BTreeMap<u64, Delta>,
    ) -> Vec<(u64, Chunk)> {
        let mut changed = vec![];
        for (chunk, before) in chunks {
            let mut members: BTreeSet<u16> = before.members.iter().copied().collect();
            for ordinal in part.touched.get(&chunk).into_iter().flatten() {
                let state = deltas.get(ordinal).map(Delta::states);
                let is_in = state.and_then(|states| states.get(part.list).copied());
                let Ok(member) = u16::try_from(ordinal % Chunk::ORDINALS) else { continue };
                match is_in {
                    Some(true) => members.insert(member),
                    Some(false) => members.remove(&member),
                    None => continue,
                };
            }
            let after = Chunk { members: members.into_iter().collect() };
            if after != before {
                changed.push((chunk, after));
            }
        }
        changed
    }

    fn write_chunk(&self, key: &RowKey, chunk: &Chunk) -> TransactAction {
        let table = &self.group.shared.table;
        match chunk.members.is_empty() {
            true => TransactAction::Delete(Delete::new(table, key.to_item())),
            false => TransactAction::Put(Put::new(table, chunk.row(key))),
        }
    }

    /// Writes the directory of a list, if nobody else has folded the list meanwhile.
    fn write_directory(
        &self,
        key: &RowKey,
        before: Option<&Directory>,
        after: &Directory,
    ) -> TransactAction {
        let table = &self.group.shared.table;
        let unchanged = match before {
            None => Condition::missing(PARTITION),
            Some(before) => {
                let version = Value::from(before.version.as_str());
                Condition::equal(Path::from(Directory::VERSION), version)
            }
        };
        match after.counts.is_empty() {
            true => TransactAction::Delete(Delete::new(table, key.to_item()).when(unchanged)),
            false => TransactAction::Put(Put::new(table, after.row(key)).when(unchanged)),
        }
    }

    /// Reads rows, in the order of their keys.
    async fn rows(&self, keys: &[RowKey]) -> Result<Vec<Option<Item>>, Error> {
        let (store, table) = (&self.group.shared.store, &self.group.shared.table);
        let mut found: BTreeMap<RowKey, Item> = BTreeMap::new();
        for batch in keys.chunks(BATCH_MAX) {
            let mut gets: Vec<Get> =
                batch.iter().map(|key| Get::new(table, key.to_item())).collect();
            let mut idle_rounds = 0;
            while !gets.is_empty() {
                let before = gets.len();
                let got = store.batch_get(BatchGet { gets }).await?;
                for (_, row) in got.items {
                    let key = batch.iter().find(|key| is_of(key, &row));
                    found.extend(key.map(|key| (key.clone(), row)));
                }
                gets = got.unprocessed;
                idle_rounds = if gets.len() < before { 0 } else { idle_rounds + 1 };
                if idle_rounds == IDLE_ROUNDS_MAX {
                    return Err(Error::Contended);
                }
            }
        }
        Ok(keys.iter().map(|key| found.remove(key)).collect())
    }
}

/// Of two reads of a delta keeps the newer one, which has more changes.
fn keep_newer(folded: &mut BTreeMap<u64, Delta>, ordinal: u64, delta: Delta) {
    let kept = folded.entry(ordinal).or_default();
    if kept.changes.len() < delta.changes.len() {
        *kept = delta;
    }
}

fn is_of(key: &RowKey, row: &Item) -> bool {
    key.to_item().iter().all(|(name, value)| row.get(name.as_str()) == Some(value))
}

fn damaged(what: &str) -> Error {
    Error::damaged(format!("A {what} of a posting list cannot be read."))
}
