//! The rows of posting lists that are kept as chunks: the chunks, the directories that count their
//! members, and deltas.
//!
//! All of it follows from own rows. So a row that cannot be read is repaired by removing it, or what it
//! counts: the entities that are missing then are appended by the next verification.

use std::collections::BTreeMap;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Chunk, ChunkKeys, Delta, Directory, RowKey, ordinal_of};
use keyloom_store::{Delete, Put, SetName, TransactAction};
use keyloom_value::{Condition, Item, Path, Value};

use super::super::expected::Group;
use super::super::findings::{Findings, show_key};
use super::super::seen::Seen;
use super::super::step::Step;
use super::super::{Problem, Remedy};
use super::membership::ChunkedLists;
use crate::error::Error;
use crate::system_rows::{key_of, system_rows};

/// A posting list.
struct List<'a> {
    step: &'a Step<'a>,
    name: &'a [u8],
}

/// Verifies a system row, if it belongs to posting lists.
pub(in super::super) async fn check_row(
    step: &Step<'_>,
    row: &Item,
    seen: &Seen,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let part = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
    let (partition, sort) = (part(PARTITION), part(SORT));
    if let Some((name, chunk)) = ChunkKeys::read_chunk_key(partition, sort) {
        let list = List { step, name: name.as_bytes() };
        return list.check_chunk(row, chunk, seen, findings).await;
    }
    if let Some(name) = ChunkKeys::read_directory_key(partition, sort) {
        let list = List { step, name: name.as_bytes() };
        return list.check_directory(row, seen, findings).await;
    }
    if ChunkKeys::is_delta(partition) && (Delta::read(row).is_err() || ordinal_of(sort).is_none()) {
        // What a delta says is verified with entities and chunks.
        let remedy = step.repair(vec![removal(step, row)]).await?;
        findings.of_row(Problem::Stray { row: show_key(row) }, remedy);
    }
    Ok(())
}

impl List<'_> {
    /// The group of its entities; none if they are of a kind that the model no longer has: the list is
    /// not read.
    fn group(&self) -> Result<Option<Group>, Error> {
        let set = SetName::new(self.name.to_vec()).map_err(keyloom_store::Error::from)?;
        Ok(self.step.expected().group_of(&set))
    }

    fn directory_key(&self) -> RowKey {
        ChunkKeys::directory_key(self.name)
    }

    /// Verifies that the directory counts a chunk, and that the entities of its members imply them.
    async fn check_chunk(
        &self,
        row: &Item,
        chunk: u64,
        seen: &Seen,
        findings: &mut Findings<'_>,
    ) -> Result<(), Error> {
        let Some(group) = self.group()? else { return Ok(()) };
        let Ok(Chunk { members, .. }) = Chunk::read(row) else {
            let remedy = self.remove_chunk(row, chunk).await?;
            findings.of_row(Problem::Stray { row: show_key(row) }, remedy);
            return Ok(());
        };
        let count = match seen.row(&self.directory_key()).map(Directory::read) {
            // It is a finding of its own.
            Some(Err(_)) => None,
            Some(Ok(directory)) => Some(directory.counts.get(&chunk).copied().unwrap_or(0)),
            None => Some(0),
        };
        if count.is_some_and(|count| count as usize != members.len()) {
            self.check_count(chunk, findings).await?;
        }
        let first = chunk.saturating_mul(Chunk::ORDINALS);
        let ordinals: Vec<u64> = members.iter().map(|member| first + u64::from(*member)).collect();
        let lists = ChunkedLists { step: self.step, group: &group };
        lists.check_members(self.name, &ordinals, findings).await
    }

    /// Removes a chunk that cannot be read, and from the directory.
    async fn remove_chunk(&self, row: &Item, chunk: u64) -> Result<Remedy, Error> {
        if !self.step.is_repairing() {
            return Ok(Remedy::NotRequested);
        }
        let mut actions = vec![removal(self.step, row)];
        let directory = self.step.at_once(vec![self.directory_key().to_item()]).await?;
        let directory = directory.into_iter().flatten().next();
        let directory = directory.and_then(|directory| Directory::read(&directory).ok());
        if let Some(directory) = directory {
            actions.push(self.put_count(Some(directory), chunk, 0)?);
        }
        self.step.repair(actions).await
    }

    /// Verifies that the chunks that a directory counts are there. How many members they have is
    /// verified with them.
    async fn check_directory(
        &self,
        row: &Item,
        seen: &Seen,
        findings: &mut Findings<'_>,
    ) -> Result<(), Error> {
        if self.group()?.is_none() {
            return Ok(());
        }
        let Ok(directory) = Directory::read(row) else {
            let remedy = self.rebuild_directory(row).await?;
            findings.of_row(Problem::Stray { row: show_key(row) }, remedy);
            return Ok(());
        };
        for chunk in directory.counts.into_keys() {
            if seen.row(&ChunkKeys::chunk_key(self.name, chunk)).is_none() {
                self.check_count(chunk, findings).await?;
            }
        }
        Ok(())
    }

    /// Counts the members of all chunks again, for a directory that cannot be read. Without it nothing
    /// is folded into the list, so its chunks stay as they are.
    async fn rebuild_directory(&self, row: &Item) -> Result<Remedy, Error> {
        if !self.step.is_repairing() {
            return Ok(Remedy::NotRequested);
        }
        let (shared, table) = (self.step.shared, self.step.table());
        let mut directory = Directory { version: shared.stamps.next()?, counts: BTreeMap::new() };
        let partition = ChunkKeys::chunk_key(self.name, 0).partition;
        for row in system_rows(&*shared.store, table, partition).await? {
            let chunk = row.get(SORT).and_then(Value::as_b).and_then(ordinal_of);
            // A chunk that cannot be read is a finding of its own.
            if let (Some(chunk), Ok(members)) = (chunk, Chunk::read(&row)) {
                directory.counts.insert(chunk, count_of(&members));
            }
        }
        let put = Put::new(table, directory.row(&self.directory_key())).when(as_found(row));
        self.step.repair(vec![TransactAction::Put(put)]).await
    }

    /// Verifies that the directory counts the members of a chunk, both as of one moment.
    async fn check_count(&self, chunk: u64, findings: &mut Findings<'_>) -> Result<(), Error> {
        let keys = [self.directory_key(), ChunkKeys::chunk_key(self.name, chunk)];
        let rows = self.step.at_once(keys.iter().map(RowKey::to_item).collect()).await?;
        let [directory, members] = &rows[..] else { return Ok(()) };
        let directory = directory.as_ref().map(Directory::read).transpose();
        let members = members.as_ref().map(Chunk::read).transpose();
        // One that cannot be read is a finding of its own.
        let (Ok(directory), Ok(members)) = (directory, members) else { return Ok(()) };
        let counts = directory.as_ref().map(|directory| &directory.counts);
        let found = counts.and_then(|counts| counts.get(&chunk).copied());
        let expected = members.as_ref().map_or(0, count_of);
        if found.unwrap_or(0) == expected {
            return Ok(());
        }
        let put = self.put_count(directory, chunk, expected)?;
        let remedy = self.step.repair(vec![put]).await?;
        let row = show_key(&self.directory_key().to_item());
        let (expected, found) = (i64::from(expected), found.map(i64::from));
        findings.of_row(Problem::WrongNumber { row, expected, found }, remedy);
        Ok(())
    }

    /// Writes how many members a chunk has into the directory, if that is unchanged.
    fn put_count(
        &self,
        before: Option<Directory>,
        chunk: u64,
        count: u32,
    ) -> Result<TransactAction, Error> {
        let unchanged = Directory::unchanged(before.as_ref());
        let mut after = before.unwrap_or_default();
        after.version = self.step.shared.stamps.next()?;
        match count {
            0 => after.counts.remove(&chunk),
            count => after.counts.insert(chunk, count),
        };
        let row = after.row(&self.directory_key());
        Ok(TransactAction::Put(Put::new(self.step.table(), row).when(unchanged)))
    }
}

/// How many members a chunk has.
fn count_of(chunk: &Chunk) -> u32 {
    u32::try_from(chunk.members.len()).unwrap_or(u32::MAX)
}

/// Removes a row, if it is as it was found.
fn removal(step: &Step<'_>, row: &Item) -> TransactAction {
    TransactAction::Delete(Delete::new(step.table(), key_of(row)).when(as_found(row)))
}

/// The condition that a row has the attributes with which it was found.
fn as_found(row: &Item) -> Condition {
    let others = row.iter().filter(|(name, _)| ![PARTITION, SORT].contains(&name.as_str()));
    others.fold(Condition::exists(PARTITION), |condition, (name, value)| {
        condition.and(Condition::equal(Path::from(name.as_str()), value.clone()))
    })
}
