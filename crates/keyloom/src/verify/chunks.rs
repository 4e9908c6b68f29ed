//! Posting lists that are kept as chunks: every entity is in the lists that it implies, and no others
//! are in them. A chunk counts together with the deltas that are not folded into it yet.
//!
//! All of it follows from own rows. So a row that cannot be read is repaired by removing it, or what it
//! counts: the entities that are missing then are appended by the next verification.

use std::collections::BTreeMap;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Chunk, ChunkKeys, Delta, Directory, OwnRow, RowKey, ordinal_of};
use keyloom_query::Error as QueryError;
use keyloom_store::{Check, Delete, OnFailure, Put, SetName, TransactAction, TransactWrite};
use keyloom_value::{Condition, Item, Path, Value};

use super::page::{Group, Membership, Seen};
use super::{Finding, Problem, Remedy, Repair, Verifier, key_of, show_key, show_name};
use crate::error::Error;
use crate::system_rows::system_rows;
use crate::write::{OrdinalOwner, PlannedDelta, as_read};

/// How many members of a chunk are verified at once.
const MEMBERS_MAX: usize = 500;

/// A chunk of a posting list.
struct ChunkOf<'c> {
    list: &'c [u8],
    chunk: u64,
}

impl Verifier<'_> {
    /// Verifies that an entity is in its lists.
    pub(super) async fn chunked(
        &self,
        own: &OwnRow,
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Some(ordinal) = own.image.ordinal else { return Ok(()) };
        // Invalid fields are a finding of their own.
        let Ok(implied) = self.schema.layouts.chunked_before(own) else { return Ok(()) };
        let memberships = implied.into_iter().map(|list| (list, ordinal));
        let is_open = |at: &Membership| !seen.is_in(at) && !seen.unreadable.contains(&at.0);
        let memberships: Vec<Membership> = memberships.filter(is_open).collect();
        if memberships.is_empty() {
            return Ok(());
        }
        let group = Group::from(&own.image.key);
        let are_in = match self.are_members(&group, &memberships).await {
            // A row of theirs was damaged after it was seen.
            Err(QueryError::Unreadable { .. }) => return Ok(()),
            are_in => are_in?,
        };
        for (at, _) in memberships.iter().zip(are_in).filter(|(_, is_in)| !is_in) {
            // Read after the list: if it is unchanged, it was so when the list was read.
            let now = self.write_context().reader().get_any(&own.image.key).await?;
            if now.as_ref() != Some(own) {
                return Ok(());
            }
            let remedy = self.append((&group, at), Some(own), true).await?;
            let problem = Problem::GroupMissing { group: show_name(&at.0) };
            findings.push(self.finding(Some(&own.image.key), problem, remedy));
        }
        Ok(())
    }

    /// Verifies a system row, if it belongs to posting lists.
    pub(super) async fn chunks(
        &self,
        row: &Item,
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let part = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
        let (partition, sort) = (part(PARTITION), part(SORT));
        if let Some((list, chunk)) = ChunkKeys::read_chunk_key(partition, sort) {
            let of = ChunkOf { list: list.as_bytes(), chunk };
            return self.chunk(row, of, seen, findings).await;
        }
        if let Some(list) = ChunkKeys::read_directory_key(partition, sort) {
            return self.directory(row, list.as_bytes(), seen, findings).await;
        }
        if ChunkKeys::is_delta(partition) {
            return self.delta(row, sort, findings).await;
        }
        Ok(())
    }

    /// The group of a list; none if it is of a kind that the model no longer has: it is not read.
    fn group_of_list(&self, list: &[u8]) -> Result<Option<Group>, Error> {
        let set = SetName::new(list.to_vec()).map_err(keyloom_store::Error::from)?;
        Ok(self.group_of(&set).map(|(entity, tenant)| Group { entity, tenant }))
    }

    /// Verifies that the directory counts a chunk, and that the entities of its members imply them.
    async fn chunk(
        &self,
        row: &Item,
        of: ChunkOf<'_>,
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Some(group) = self.group_of_list(of.list)? else { return Ok(()) };
        let Ok(members) = Chunk::read(row) else {
            let remedy = self.drop_chunk(row, &of).await?;
            let problem = Problem::Stray { row: show_key(row) };
            findings.push(self.finding(None, problem, remedy));
            return Ok(());
        };
        let directory = seen.row(&ChunkKeys::directory_key(of.list)).map(Directory::read);
        let count = match directory {
            // It is a finding of its own.
            Some(Err(_)) => None,
            Some(Ok(directory)) => Some(directory.counts.get(&of.chunk).copied().unwrap_or(0)),
            None => Some(0),
        };
        if count.is_some_and(|count| count as usize != members.members.len()) {
            self.count(&of, findings).await?;
        }
        let first = of.chunk.saturating_mul(Chunk::ORDINALS);
        let ordinals = members.members.iter().map(|member| first + u64::from(*member));
        let ordinals: Vec<u64> = ordinals.collect();
        for ordinals in ordinals.chunks(MEMBERS_MAX) {
            self.members(&group, of.list, ordinals, findings).await?;
        }
        Ok(())
    }

    /// Verifies that the entities of ordinals imply that they are in a list.
    async fn members(
        &self,
        group: &Group,
        list: &[u8],
        ordinals: &[u64],
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let reader = self.write_context().reader();
        let rows = reader.numbered_all(group.entity, group.tenant.as_ref(), ordinals).await;
        let rows = match rows {
            // Each is read alone then.
            Err(QueryError::Unreadable { .. }) => BTreeMap::new(),
            rows => rows?,
        };
        let is_implied =
            |ordinal: &u64| rows.get(ordinal).is_some_and(|own| self.implies_list(Some(own), list));
        for ordinal in ordinals.iter().copied().filter(|ordinal| !is_implied(ordinal)) {
            self.membership(group, &(list.to_vec(), ordinal), findings).await?;
        }
        Ok(())
    }

    /// Removes a chunk that cannot be read, and from the directory.
    async fn drop_chunk(&self, row: &Item, of: &ChunkOf<'_>) -> Result<Remedy, Error> {
        if self.repair == Repair::No {
            return Ok(Remedy::NotRequested);
        }
        let table = &self.shared.table;
        let delete = Delete::new(table, key_of(row)).when(as_found(row));
        let mut actions = vec![TransactAction::Delete(delete)];
        let key = ChunkKeys::directory_key(of.list);
        let directory = self.at_once(vec![key.to_item()]).await?.into_iter().flatten().next();
        let directory = directory.and_then(|directory| Directory::read(&directory).ok());
        if let Some(directory) = directory {
            actions.push(self.put_count(&key, Some(directory), (of.chunk, 0))?);
        }
        self.mend(actions).await
    }

    /// Verifies that the chunks that a directory counts are there. How many members they have is
    /// verified with them.
    async fn directory(
        &self,
        row: &Item,
        list: &[u8],
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        if self.group_of_list(list)?.is_none() {
            return Ok(());
        }
        let Ok(directory) = Directory::read(row) else {
            let remedy = self.rebuild_directory(row, list).await?;
            let problem = Problem::Stray { row: show_key(row) };
            findings.push(self.finding(None, problem, remedy));
            return Ok(());
        };
        for chunk in directory.counts.into_keys() {
            if seen.row(&ChunkKeys::chunk_key(list, chunk)).is_none() {
                self.count(&ChunkOf { list, chunk }, findings).await?;
            }
        }
        Ok(())
    }

    /// Counts the members of all chunks again, for a directory that cannot be read. Without it nothing
    /// is folded into the list, so its chunks stay as they are.
    async fn rebuild_directory(&self, row: &Item, list: &[u8]) -> Result<Remedy, Error> {
        if self.repair == Repair::No {
            return Ok(Remedy::NotRequested);
        }
        let (store, table) = (&*self.shared.store, &self.shared.table);
        let mut directory =
            Directory { version: self.shared.stamps.next()?, counts: BTreeMap::new() };
        for row in system_rows(store, table, ChunkKeys::chunk_key(list, 0).partition).await? {
            let chunk = row.get(SORT).and_then(Value::as_b).and_then(ordinal_of);
            // A chunk that cannot be read is a finding of its own.
            if let (Some(chunk), Ok(members)) = (chunk, Chunk::read(&row)) {
                directory.counts.insert(chunk, count_of(&members));
            }
        }
        let put = directory.row(&ChunkKeys::directory_key(list));
        self.mend(vec![TransactAction::Put(Put::new(table, put).when(as_found(row)))]).await
    }

    /// Verifies that a delta can be read. What it says is verified with entities and chunks.
    async fn delta(
        &self,
        row: &Item,
        sort: &[u8],
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        if Delta::read(row).is_ok() && ordinal_of(sort).is_some() {
            return Ok(());
        }
        let remedy = match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => {
                let delete = Delete::new(&self.shared.table, key_of(row)).when(as_found(row));
                self.mend(vec![TransactAction::Delete(delete)]).await?
            }
        };
        findings.push(self.finding(None, Problem::Stray { row: show_key(row) }, remedy));
        Ok(())
    }

    /// Verifies that the directory of a list counts the members of a chunk, both as of one moment.
    async fn count(&self, of: &ChunkOf<'_>, findings: &mut Vec<Finding>) -> Result<(), Error> {
        let keys = [ChunkKeys::directory_key(of.list), ChunkKeys::chunk_key(of.list, of.chunk)];
        let rows = self.at_once(keys.iter().map(RowKey::to_item).collect()).await?;
        let [directory, members] = &rows[..] else { return Ok(()) };
        let directory = directory.as_ref().map(Directory::read).transpose();
        let members = members.as_ref().map(Chunk::read).transpose();
        // One that cannot be read is a finding of its own.
        let (Ok(directory), Ok(members)) = (directory, members) else { return Ok(()) };
        let counted = directory.as_ref();
        let found = counted.and_then(|directory| directory.counts.get(&of.chunk).copied());
        let expected = members.as_ref().map_or(0, count_of);
        if found.unwrap_or(0) == expected {
            return Ok(());
        }
        let remedy = match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => {
                let put = self.put_count(&keys[0], directory, (of.chunk, expected))?;
                self.mend(vec![put]).await?
            }
        };
        let row = show_key(&keys[0].to_item());
        let (expected, found) = (i64::from(expected), found.map(i64::from));
        findings.push(self.finding(None, Problem::WrongNumber { row, expected, found }, remedy));
        Ok(())
    }

    /// Writes how many members a chunk has into the directory, if that is unchanged.
    fn put_count(
        &self,
        key: &RowKey,
        before: Option<Directory>,
        (chunk, count): (u64, u32),
    ) -> Result<TransactAction, Error> {
        let unchanged = Directory::unchanged(before.as_ref());
        let mut after = before.unwrap_or_default();
        after.version = self.shared.stamps.next()?;
        match count {
            0 => after.counts.remove(&chunk),
            count => after.counts.insert(chunk, count),
        };
        Ok(TransactAction::Put(Put::new(&self.shared.table, after.row(key)).when(unchanged)))
    }

    /// Verifies that the entity of an ordinal implies that it is in a list.
    async fn membership(
        &self,
        group: &Group,
        at: &Membership,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let own = match self.owner_of_ordinal(group, at.1).await {
            // The own row is invalid, which is a finding of its own.
            Err(QueryError::Unreadable { .. }) => return Ok(()),
            own => own?,
        };
        if self.implies_list(own.as_ref(), &at.0) {
            return Ok(());
        }
        // Perhaps a delta says so, or the entity has changed since.
        let are_in = match self.are_members(group, std::slice::from_ref(at)).await {
            // A row of the list is, which is a finding of its own too.
            Err(QueryError::Unreadable { .. }) => return Ok(()),
            are_in => are_in?,
        };
        let now = self.owner_of_ordinal(group, at.1).await?;
        if !are_in.contains(&true) || now != own {
            return Ok(());
        }
        let remedy = self.append((group, at), own.as_ref(), false).await?;
        let problem = Problem::GroupWrong { group: show_name(&at.0), number: at.1 };
        findings.push(self.finding(own.as_ref().map(|own| &own.image.key), problem, remedy));
        Ok(())
    }

    async fn owner_of_ordinal(
        &self,
        Group { entity, tenant }: &Group,
        ordinal: u64,
    ) -> Result<Option<OwnRow>, QueryError> {
        let reader = self.write_context().reader();
        let rows = reader.numbered(*entity, tenant.as_ref(), ordinal).await?;
        Ok(rows.into_iter().next())
    }

    fn implies_list(&self, own: Option<&OwnRow>, list: &[u8]) -> bool {
        let implied = own.map(|own| self.schema.layouts.chunked_before(own));
        match implied {
            None => false,
            Some(Ok(implied)) => implied.contains(list),
            // Invalid fields are a finding of their own.
            Some(Err(_)) => true,
        }
    }

    /// Appends a delta that says whether an ordinal is in a list, if its entity is unchanged.
    async fn append(
        &self,
        (group, (list, ordinal)): (&Group, &Membership),
        own: Option<&OwnRow>,
        is_in: bool,
    ) -> Result<Remedy, Error> {
        if self.repair == Repair::No {
            return Ok(Remedy::NotRequested);
        }
        let (entity, tenant, ordinal) = (group.entity, group.tenant.as_ref(), *ordinal);
        let (layout, table) = (&self.schema.layouts.current, &self.shared.table);
        let names = |is_named: bool| is_named.then(|| list.clone()).into_iter().collect();
        let owner = OrdinalOwner { entity, tenant, ordinal };
        let delta = PlannedDelta::new(layout, &owner, names(is_in), names(!is_in));
        let (store, now_ms) = (&*self.shared.store, self.shared.now_ms());
        let deltas = std::slice::from_ref(&delta);
        self.shared.groups.register(store, table, deltas, now_ms).await?;
        let append = delta.action(table, &self.shared.stamps.next()?).action;
        let check = own.map(|own| {
            let (key, condition) = (layout.own_key(&own.image.key).to_item(), as_read(own));
            let (table, on_failure) = (table.clone(), OnFailure::Nothing);
            TransactAction::Check(Check { table, key, condition, on_failure })
        });
        let actions = check.into_iter().chain([append]).collect();
        self.mend_all(TransactWrite::new(actions)).await
    }
}

/// How many members a chunk has.
fn count_of(chunk: &Chunk) -> u32 {
    u32::try_from(chunk.members.len()).unwrap_or(u32::MAX)
}

/// The condition that a row has the attributes with which it was found.
fn as_found(row: &Item) -> Condition {
    let others = row.iter().filter(|(name, _)| ![PARTITION, SORT].contains(&name.as_str()));
    others.fold(Condition::exists(PARTITION), |condition, (name, value)| {
        condition.and(Condition::equal(Path::from(name.as_str()), value.clone()))
    })
}
