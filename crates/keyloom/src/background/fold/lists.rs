//! Folds some deltas into the chunks of all lists that they mention.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use keyloom_model::{Chunk, ChunkKeys, Delta, Directory, RowKey};
use keyloom_store::{Delete, Error as StoreError, Put, TransactAction, TransactWrite};
use keyloom_value::Item;

use super::{Group, TOGETHER, read_delta};
use crate::error::Error;
use crate::write::ACTIONS_MAX;

/// How many chunks one transaction writes, at most: a chunk takes up to 8 KB, a transaction 4 MB.
const CHUNKS_MAX: usize = ACTIONS_MAX - 1;

/// Folds what was seen of a group.
pub(super) struct ListFold<'f> {
    pub(super) group: &'f Group<'f>,
    /// The deltas, as far as they are to be folded.
    pub(super) seen: &'f [(u64, Delta)],
}

/// Whether ordinals are in the lists that their deltas mention.
type States<'d> = BTreeMap<u64, BTreeMap<&'d [u8], bool>>;

/// A list that deltas mention.
struct Touched<'f> {
    list: &'f [u8],
    /// The ordinals whose membership may have changed, by chunk.
    ordinals: BTreeMap<u64, BTreeSet<u64>>,
    /// None if the list was never folded.
    directory: Option<Directory>,
    chunks: BTreeMap<u64, Chunk>,
}

impl ListFold<'_> {
    /// Folds all lists. Returns the deltas all of whose lists were folded, as they are now.
    ///
    /// The order of reads matters: directories, then chunks, then deltas. A list is written only under
    /// the version of its directory, which changes with every fold, also with one that changes nothing
    /// else. So if another process has removed deltas that it has folded since, nothing is written.
    pub(super) async fn run(&self) -> Result<BTreeMap<u64, Delta>, Error> {
        let mut lists = self.lists();
        self.read_directories(&mut lists).await?;
        self.read_chunks(&mut lists).await?;
        let mut deltas = self.deltas().await?;
        // Once for each delta: a long text is in thousands of lists.
        let states = deltas.iter().map(|(ordinal, delta)| (*ordinal, delta.states()));
        let states: States<'_> = states.collect();
        let mut missed: BTreeSet<u64> = BTreeSet::new();
        for some in lists.chunks(TOGETHER) {
            let written = try_join_all(some.iter().map(|list| self.write(list, &states))).await?;
            let not_written = some.iter().zip(written).filter(|(_, is_written)| !is_written);
            missed.extend(not_written.flat_map(|(list, _)| list.ordinals.values().flatten()));
        }
        deltas.retain(|ordinal, _| !missed.contains(ordinal));
        Ok(deltas)
    }

    /// The lists that deltas mention.
    fn lists(&self) -> Vec<Touched<'_>> {
        let mut lists: BTreeMap<&[u8], BTreeMap<u64, BTreeSet<u64>>> = BTreeMap::new();
        for (ordinal, delta) in self.seen {
            for list in delta.states().into_keys() {
                let ordinals = lists.entry(list).or_default();
                ordinals.entry(ordinal / Chunk::ORDINALS).or_default().insert(*ordinal);
            }
        }
        let touched =
            |(list, ordinals)| Touched { list, ordinals, directory: None, chunks: BTreeMap::new() };
        lists.into_iter().map(touched).collect()
    }

    async fn read_directories(&self, lists: &mut [Touched<'_>]) -> Result<(), Error> {
        let keys: Vec<RowKey> =
            lists.iter().map(|list| ChunkKeys::directory_key(list.list)).collect();
        for (list, row) in lists.iter_mut().zip(self.rows(&keys).await?) {
            let directory = row.as_ref().map(Directory::read).transpose();
            list.directory = directory.map_err(|_| damaged("directory"))?;
        }
        Ok(())
    }

    async fn read_chunks(&self, lists: &mut [Touched<'_>]) -> Result<(), Error> {
        let of_list = |list: &Touched<'_>| -> Vec<RowKey> {
            list.ordinals.keys().map(|chunk| ChunkKeys::chunk_key(list.list, *chunk)).collect()
        };
        let keys: Vec<RowKey> = lists.iter().flat_map(of_list).collect();
        let mut rows = self.rows(&keys).await?.into_iter();
        for list in lists {
            for (chunk, row) in list.ordinals.keys().zip(rows.by_ref()) {
                let members = row.as_ref().map(Chunk::read).transpose();
                let members = members.map_err(|_| damaged("chunk"))?;
                list.chunks.insert(*chunk, members.unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Reads the deltas again. One that others have folded as far is left out.
    async fn deltas(&self) -> Result<BTreeMap<u64, Delta>, Error> {
        let keys: Vec<RowKey> =
            self.seen.iter().map(|(ordinal, _)| self.group.delta_key(*ordinal)).collect();
        let rows = self.rows(&keys).await?;
        let mut deltas = BTreeMap::new();
        for ((ordinal, seen), row) in self.seen.iter().zip(rows) {
            let Some(row) = row else { continue };
            let (_, now) = read_delta(&row)?;
            if seen.last().is_some_and(|last| now.position(last).is_some()) {
                deltas.insert(*ordinal, now);
            }
        }
        Ok(deltas)
    }

    /// Writes a list, in transactions of some chunks each. Returns false if another process has folded
    /// it at the same time.
    async fn write(&self, list: &Touched<'_>, states: &States<'_>) -> Result<bool, Error> {
        let key = ChunkKeys::directory_key(list.list);
        let changed = changed_chunks(list, states);
        let mut before = list.directory.clone();
        let mut left = &changed[..];
        loop {
            let (some, rest) = left.split_at(left.len().min(CHUNKS_MAX));
            let mut after = Directory {
                version: self.group.shared.stamps.next()?,
                counts: before.as_ref().map(|before| before.counts.clone()).unwrap_or_default(),
            };
            let mut actions = vec![];
            for (chunk, members) in some {
                let count = u32::try_from(members.members.len()).unwrap_or(u32::MAX);
                actions.push(self.write_chunk(&ChunkKeys::chunk_key(list.list, *chunk), members));
                match count {
                    0 => after.counts.remove(chunk),
                    _ => after.counts.insert(*chunk, count),
                };
            }
            actions.push(self.write_directory(&key, before.as_ref(), &after));
            match self.group.shared.store.transact_write(TransactWrite::new(actions)).await {
                Ok(()) => {}
                Err(StoreError::Canceled { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            if rest.is_empty() {
                return Ok(true);
            }
            (before, left) = (Some(after), rest);
        }
    }

    fn write_chunk(&self, key: &RowKey, chunk: &Chunk) -> TransactAction {
        let table = &self.group.shared.table;
        match chunk.members.is_empty() {
            true => TransactAction::Delete(Delete::new(table, key.to_item())),
            false => TransactAction::Put(Put::new(table, chunk.row(key))),
        }
    }

    /// Writes the directory of a list, if nobody else has folded the list meanwhile. It stays when the
    /// list is empty: otherwise a fold that was paused since the list was new could still be written.
    fn write_directory(
        &self,
        key: &RowKey,
        before: Option<&Directory>,
        after: &Directory,
    ) -> TransactAction {
        let put = Put::new(&self.group.shared.table, after.row(key));
        TransactAction::Put(put.when(Directory::unchanged(before)))
    }

    /// Reads rows, in the order of their keys.
    async fn rows(&self, keys: &[RowKey]) -> Result<Vec<Option<Item>>, Error> {
        let ctx = self.group.shared.write_context(self.group.schema);
        Ok(ctx.reader().rows_at(keys).await?)
    }
}

/// The chunks of a list that differ when the deltas are applied.
fn changed_chunks(list: &Touched<'_>, states: &States<'_>) -> Vec<(u64, Chunk)> {
    let mut changed = vec![];
    for (chunk, before) in &list.chunks {
        let mut members: BTreeSet<u16> = before.members.iter().copied().collect();
        for ordinal in list.ordinals.get(chunk).into_iter().flatten() {
            let is_in = states.get(ordinal).and_then(|states| states.get(list.list).copied());
            let Ok(member) = u16::try_from(ordinal % Chunk::ORDINALS) else { continue };
            match is_in {
                Some(true) => members.insert(member),
                Some(false) => members.remove(&member),
                None => continue,
            };
        }
        let after = Chunk { members: members.into_iter().collect() };
        if after != *before {
            changed.push((*chunk, after));
        }
    }
    changed
}

fn damaged(what: &str) -> Error {
    Error::damaged(format!("A {what} of a posting list cannot be read."))
}
