//! The posting lists of a group at one moment: what one read needs of them, each row read once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use keyloom_model::{Chunk, ChunkKeys, Directory, EntityId};
use keyloom_store::{Direction, Members, SetPart};
use keyloom_value::{Item, KeyBytes, Value};

use super::READ_MAX;
use super::deltas::Deltas;
use crate::error::unreadable;
use crate::fetch::{BATCH_MAX, RawKey};
use crate::partition::Partition;
use crate::span::Span;
use crate::{Error, ReadCost, Reader};

/// What one read has learned of the posting lists of a group.
#[derive(Debug)]
pub(crate) struct ChunkView {
    entity: EntityId,
    tenant: Option<Value>,
    /// When the deltas were read, and what they are.
    deltas: Option<(Instant, Deltas)>,
    directories: BTreeMap<Vec<u8>, Directory>,
    chunks: BTreeMap<ChunkName, Members>,
    /// The lists that are combined, chunk by chunk.
    combined: BTreeSet<Vec<u8>>,
    /// How many chunks of each list are read at once.
    ahead: usize,
    /// What is in a range, by its name and chunk.
    ranges: BTreeMap<String, BTreeMap<u64, Members>>,
}

/// A chunk of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ChunkName {
    list: Vec<u8>,
    chunk: u64,
}

/// A posting list: the last part of its name, and its number of members.
#[derive(Debug)]
pub(crate) struct ListSize {
    pub(crate) part: Vec<u8>,
    pub(crate) size: u64,
}

/// A view, and what it needs to read more.
pub(crate) struct ViewReader<'v> {
    pub(crate) view: &'v mut ChunkView,
    pub(crate) reader: &'v Reader<'v>,
    pub(crate) cost: &'v mut ReadCost,
}

impl ChunkView {
    /// A view of the lists of a kind; of one tenant, if the kind has tenants. Nothing is read yet.
    pub(crate) fn new(entity: EntityId, tenant: Option<&Value>) -> ChunkView {
        ChunkView {
            entity,
            tenant: tenant.cloned(),
            deltas: None,
            directories: BTreeMap::new(),
            chunks: BTreeMap::new(),
            combined: BTreeSet::new(),
            ahead: 1,
            ranges: BTreeMap::new(),
        }
    }

    /// What is in a range in a chunk, if that was remembered.
    pub(crate) fn in_range(&self, range: &str, chunk: u64) -> Option<&Members> {
        self.ranges.get(range)?.get(&chunk)
    }

    pub(crate) fn remember_range(&mut self, range: &str, chunk: u64, members: Members) {
        self.ranges.entry(range.to_owned()).or_default().insert(chunk, members);
    }

    /// The chunks in which a list may have members, from one on, in a direction.
    fn chunks_from(&self, list: &[u8], from: u64, direction: Direction) -> Vec<u64> {
        let kept = self.directories.get(list).into_iter().flat_map(|list| list.counts.keys());
        let joined = self.deltas.as_ref().and_then(|(_, deltas)| deltas.of(list));
        let joined = joined.map(|delta| delta.joined_chunks()).unwrap_or_default();
        let mut chunks: Vec<u64> = kept.copied().chain(joined).collect();
        chunks.sort_unstable();
        chunks.dedup();
        match direction {
            Direction::Forward => chunks.retain(|chunk| *chunk >= from),
            Direction::Backward => {
                chunks.retain(|chunk| *chunk <= from);
                chunks.reverse();
            }
        }
        chunks
    }

    /// Whether ordinals are in lists.
    pub(crate) async fn are_members(
        &mut self,
        reader: &Reader<'_>,
        memberships: &[(Vec<u8>, u64)],
    ) -> Result<Vec<bool>, Error> {
        let name = |(list, ordinal): &(Vec<u8>, u64)| ChunkName {
            list: list.clone(),
            chunk: ordinal / Chunk::ORDINALS,
        };
        let names: BTreeSet<ChunkName> = memberships.iter().map(name).collect();
        let lists: BTreeSet<&[u8]> = memberships.iter().map(|(list, _)| list.as_slice()).collect();
        let mut cost = ReadCost::default();
        let mut view = ViewReader { view: self, reader, cost: &mut cost };
        view.read_directories(&Vec::from_iter(lists)).await?;
        let with_rows = names.iter().filter(|name| view.view.has_row(name)).cloned();
        view.read_chunks(&with_rows.collect::<Vec<_>>()).await?;
        let members: BTreeMap<&ChunkName, Members> =
            names.iter().map(|name| (name, self.members(name))).collect();
        let is_member = |membership: &(Vec<u8>, u64)| {
            members.get(&name(membership)).is_some_and(|members| members.contains(membership.1))
        };
        Ok(memberships.iter().map(is_member).collect())
    }

    fn has_row(&self, name: &ChunkName) -> bool {
        let directory = self.directories.get(&name.list);
        directory.is_some_and(|directory| directory.counts.contains_key(&name.chunk))
    }

    /// The members of a list in a chunk that was read, or has no row.
    fn members(&self, name: &ChunkName) -> Members {
        let mut members = self.chunks.get(name).cloned().unwrap_or_default();
        let deltas = self.deltas.as_ref().and_then(|(_, deltas)| deltas.of(&name.list));
        if let Some(delta) = deltas {
            delta.apply(name.chunk, &mut members);
        }
        members
    }

    /// Says which lists will be combined, so that the same chunks of all of them are read together.
    pub(crate) fn combine<'n>(&mut self, lists: impl Iterator<Item = &'n [u8]>) {
        self.combined.extend(lists.map(<[u8]>::to_vec));
    }

    /// The chunks to read when one is needed: the next ones of its list, and the same of all lists that
    /// are combined.
    fn wanted(&self, name: &ChunkName, next: &[u64]) -> Vec<ChunkName> {
        let chunks = &next[..next.len().min(self.ahead)];
        let others = self.combined.iter().filter(|list| **list != name.list);
        let lists = std::iter::once(&name.list).chain(others);
        let all = lists.flat_map(|list| {
            chunks.iter().map(|chunk| ChunkName { list: list.clone(), chunk: *chunk })
        });
        let is_new = |name: &ChunkName| self.has_row(name) && !self.chunks.contains_key(name);
        all.filter(is_new).take(BATCH_MAX).collect()
    }
}

impl ViewReader<'_> {
    /// Returns the sizes of lists.
    pub(crate) async fn sizes(&mut self, lists: &[&[u8]]) -> Result<Vec<u64>, Error> {
        self.read_directories(lists).await?;
        let mut touched = vec![];
        for list in lists {
            touched.extend(self.touched(list).into_iter().filter(|name| self.view.has_row(name)));
        }
        self.read_chunks(&touched).await?;
        Ok(lists.iter().map(|list| self.size(list)).collect())
    }

    /// Reads the members in the next chunk that has any, in a direction.
    pub(crate) async fn read(
        &mut self,
        list: &[u8],
        from: u64,
        direction: Direction,
    ) -> Result<SetPart, Error> {
        self.read_directories(&[list]).await?;
        let chunks = self.view.chunks_from(list, from / Chunk::ORDINALS, direction);
        for (place, chunk) in chunks.iter().enumerate() {
            let name = ChunkName { list: list.to_vec(), chunk: *chunk };
            if self.view.has_row(&name) && !self.view.chunks.contains_key(&name) {
                let wanted = self.view.wanted(&name, &chunks[place..]);
                self.read_chunks(&wanted).await?;
                self.view.ahead = self.view.ahead.saturating_mul(2).min(BATCH_MAX);
            }
            let mut members = self.view.members(&name);
            let first = chunk.saturating_mul(Chunk::ORDINALS);
            let last = first.saturating_add(Chunk::ORDINALS - 1);
            let (range, end) = match direction {
                Direction::Forward => (from..=u64::MAX, last),
                Direction::Backward => (0..=from, first),
            };
            members.keep(range);
            if !members.is_empty() {
                let is_last = place + 1 == chunks.len();
                let through = (!is_last).then_some(end);
                return Ok(SetPart { members, through, ..SetPart::default() });
            }
        }
        Ok(SetPart::default())
    }

    /// Returns the nonempty lists whose names are `base` and one part that begins with `begin`, in
    /// the order of the part, after one of them.
    pub(crate) async fn list(
        &mut self,
        base: &[u8],
        begin: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<ListSize>, Error> {
        self.read_deltas().await?;
        let key = ChunkKeys::directory_partition(base);
        let mut span = Span::within(begin);
        span = after.map_or(span.clone(), |after| span.past(after));
        let mut found = vec![];
        loop {
            let partition = Partition::of_table(key.as_bytes());
            let request = partition.first(&span, limit.clamp(1, BATCH_MAX));
            let page = request.read(self.reader.rows(), self.cost).await?;
            let mut parts = vec![];
            for row in &page.items {
                let part = partition.sort_of(row)?.to_vec();
                let directory = read_directory(row)?;
                self.view.directories.insert([base, &part].concat(), directory);
                parts.push(part);
            }
            let end = page.last_key.as_ref().map(|row| partition.sort_of(row)).transpose()?;
            parts.extend(self.joined_within(base, &span, end));
            parts.sort();
            parts.dedup();
            let names: Vec<Vec<u8>> = parts.iter().map(|part| [base, part].concat()).collect();
            let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
            let sizes = self.sizes(&names).await?;
            let sized = parts.into_iter().zip(sizes).map(|(part, size)| ListSize { part, size });
            found.extend(sized.filter(|list| list.size > 0));
            let next = end.map(|end| span.clone().past(end)).filter(|_| found.len() < limit);
            let Some(next) = next else { break };
            span = next;
        }
        found.truncate(limit);
        Ok(found)
    }

    /// The last parts of lists that have nothing but deltas, perhaps, within a span and up to an end.
    fn joined_within(&self, base: &[u8], span: &Span, end: Option<&[u8]>) -> Vec<Vec<u8>> {
        let Some((_, deltas)) = &self.view.deltas else { return vec![] };
        let parts = deltas.joined_from(base).map_while(|name| name.strip_prefix(base));
        let is_one = |part: &&[u8]| KeyBytes::skip_part(part).is_ok_and(<[u8]>::is_empty);
        let is_here = |part: &&[u8]| span.has(part) && end.is_none_or(|end| *part <= end);
        parts.filter(is_one).filter(is_here).map(<[u8]>::to_vec).collect()
    }

    /// The chunks of a list that deltas mention.
    fn touched(&self, list: &[u8]) -> Vec<ChunkName> {
        let delta = self.view.deltas.as_ref().and_then(|(_, deltas)| deltas.of(list));
        let chunks = delta.map(|delta| delta.chunks()).unwrap_or_default();
        chunks.into_iter().map(|chunk| ChunkName { list: list.to_vec(), chunk }).collect()
    }

    /// The size of a list whose touched chunks were read: the directory may count what deltas mention,
    /// or not yet.
    fn size(&self, list: &[u8]) -> u64 {
        let (touched, directory) = (self.touched(list), self.view.directories.get(list));
        let mut counts = directory.map(|directory| directory.counts.clone()).unwrap_or_default();
        counts.retain(|chunk, _| !touched.iter().any(|name| name.chunk == *chunk));
        let kept: u64 = counts.values().map(|count| u64::from(*count)).sum();
        touched.iter().map(|name| self.view.members(name).len()).sum::<u64>() + kept
    }

    /// Reads the deltas, unless they were read.
    async fn read_deltas(&mut self) -> Result<(), Error> {
        if self.view.deltas.is_none() {
            let since = Instant::now();
            let ChunkView { entity, tenant, .. } = self.view;
            let chunks = self.reader.layout.chunks();
            let partitions = chunks.delta_partitions(*entity, tenant.as_ref());
            let deltas = Deltas::read(self.reader.rows(), &partitions, since).await?;
            self.view.deltas = Some((since, deltas));
        }
        Ok(())
    }

    /// Fails if the deltas were read too long ago for what was read after them.
    fn check_age(&self) -> Result<(), Error> {
        match &self.view.deltas {
            Some((since, _)) if since.elapsed() >= READ_MAX => Err(Error::Unanswered { rows: 1 }),
            Some(_) | None => Ok(()),
        }
    }

    /// Reads the directories of lists that were not read before.
    async fn read_directories(&mut self, lists: &[&[u8]]) -> Result<(), Error> {
        self.read_deltas().await?;
        let is_new = |list: &&&[u8]| !self.view.directories.contains_key(**list);
        let new: Vec<Vec<u8>> = lists.iter().filter(is_new).map(|list| list.to_vec()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let keys: Vec<RawKey> =
            new.iter().map(|list| (&ChunkKeys::directory_key(list)).into()).collect();
        let rows = self.reader.rows().get_many(&keys, self.cost).await?;
        for (list, row) in new.into_iter().zip(rows) {
            let directory = row.as_ref().map(read_directory).transpose()?.unwrap_or_default();
            self.view.directories.insert(list, directory);
        }
        self.check_age()
    }

    /// Reads chunks that were not read before.
    async fn read_chunks(&mut self, names: &[ChunkName]) -> Result<(), Error> {
        let is_new = |name: &&ChunkName| !self.view.chunks.contains_key(*name);
        let names: Vec<&ChunkName> = names.iter().filter(is_new).collect();
        if names.is_empty() {
            return Ok(());
        }
        let key = |name: &&ChunkName| (&ChunkKeys::chunk_key(&name.list, name.chunk)).into();
        let keys: Vec<RawKey> = names.iter().map(key).collect();
        let rows = self.reader.rows().get_many(&keys, self.cost).await?;
        for (name, row) in names.into_iter().zip(rows) {
            let members = row.map(|row| read_chunk(&row, name.chunk)).transpose()?;
            self.view.chunks.insert(name.clone(), members.unwrap_or_default());
        }
        self.check_age()
    }
}

fn read_directory(row: &Item) -> Result<Directory, Error> {
    Directory::read(row).map_err(|reason| unreadable(row, reason))
}

fn read_chunk(row: &Item, chunk: u64) -> Result<Members, Error> {
    let members = Chunk::read(row).map_err(|reason| unreadable(row, reason))?.members;
    let first = chunk.saturating_mul(Chunk::ORDINALS);
    Ok(members.into_iter().map(|member| first + u64::from(member)).collect())
}
