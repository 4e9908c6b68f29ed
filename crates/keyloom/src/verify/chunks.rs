//! Posting lists that are kept as chunks: every entity is in the lists that it implies, and no others
//! are in them. A chunk counts together with the deltas that are not folded into it yet.

use std::collections::BTreeMap;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Chunk, ChunkKeys, Directory, EntityId, OwnRow, RowKey};
use keyloom_store::{Check, OnFailure, Put, SetName, TransactAction, TransactWrite};
use keyloom_value::{Item, Value};

use super::{Finding, Problem, Remedy, Repair, Verifier, show_key, show_name};
use crate::error::Error;
use crate::write::{OrdinalOwner, PlannedDelta, as_read};

/// How many members of a chunk are verified at once.
const MEMBERS_MAX: usize = 500;

/// An ordinal in a posting list.
struct Membership<'m> {
    list: &'m [u8],
    ordinal: u64,
    entity: EntityId,
    tenant: Option<&'m Value>,
}

impl Verifier<'_> {
    /// Verifies that an entity is in its lists.
    pub(super) async fn chunked(
        &self,
        own: &OwnRow,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Some(ordinal) = own.image.ordinal else { return Ok(()) };
        // Invalid fields are a finding of their own.
        let Ok(implied) = self.schema.layouts.chunked_before(own) else { return Ok(()) };
        if implied.is_empty() {
            return Ok(());
        }
        let (entity, tenant) = (own.image.key.entity, own.image.key.tenant.as_ref());
        let memberships: Vec<(Vec<u8>, u64)> =
            implied.into_iter().map(|list| (list, ordinal)).collect();
        let reader = self.write_context().reader();
        let are_in = reader.are_members(entity, tenant, &memberships).await?;
        for ((list, _), _) in memberships.iter().zip(are_in).filter(|(_, is_in)| !is_in) {
            // Read after the list: if it is unchanged, it was so when the list was read.
            if reader.get_any(&own.image.key).await?.as_ref() != Some(own) {
                return Ok(());
            }
            let membership = Membership { list, ordinal, entity, tenant };
            let remedy = self.append(&membership, Some(own), true).await?;
            let problem = Problem::GroupMissing { group: show_name(list) };
            findings.push(self.finding(Some(&own.image.key), problem, remedy));
        }
        Ok(())
    }

    /// Verifies that the entities of a chunk's members imply them. Rows that are no chunks are valid.
    pub(super) async fn chunk(&self, row: &Item, findings: &mut Vec<Finding>) -> Result<(), Error> {
        let part = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
        let Some((list, chunk)) = ChunkKeys::read_chunk_key(part(PARTITION), part(SORT)) else {
            return Ok(());
        };
        let list = list.into_vec();
        let set = SetName::new(list.clone()).map_err(keyloom_store::Error::from)?;
        // Lists of kinds that the model no longer has are not read.
        let Some((entity, tenant)) = self.group_of(&set) else { return Ok(()) };
        let Ok(members) = Chunk::read(row) else {
            let problem = Problem::Stray { row: show_key(row) };
            findings.push(self.finding(None, problem, self.for_a_person()));
            return Ok(());
        };
        self.directory(&list, chunk, findings).await?;
        let first = chunk.saturating_mul(Chunk::ORDINALS);
        let ordinals = members.members.iter().map(|member| first + u64::from(*member));
        let ordinals: Vec<u64> = ordinals.collect();
        for ordinals in ordinals.chunks(MEMBERS_MAX) {
            let reader = self.write_context().reader();
            let rows = match reader.numbered_all(entity, tenant.as_ref(), ordinals).await {
                // Each is read alone then.
                Err(keyloom_query::Error::Unreadable { .. }) => BTreeMap::new(),
                rows => rows?,
            };
            let is_implied = |ordinal: &u64| {
                rows.get(ordinal).is_some_and(|own| self.implies_list(Some(own), &list))
            };
            for ordinal in ordinals.iter().copied().filter(|ordinal| !is_implied(ordinal)) {
                let (list, tenant) = (list.as_slice(), tenant.as_ref());
                let membership = Membership { list, ordinal, entity, tenant };
                self.membership(&membership, findings).await?;
            }
        }
        Ok(())
    }

    /// Verifies that the directory of a list counts the members of a chunk.
    async fn directory(
        &self,
        list: &[u8],
        chunk: u64,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let keys = [ChunkKeys::directory_key(list), ChunkKeys::chunk_key(list, chunk)];
        let rows = self.at_once(keys.iter().map(RowKey::to_item).collect()).await?;
        let [directory, members] = &rows[..] else { return Ok(()) };
        let counted = directory.as_ref().and_then(|row| Directory::read(row).ok());
        let found = counted.as_ref().and_then(|counted| counted.counts.get(&chunk).copied());
        let members = members.as_ref().and_then(|row| Chunk::read(row).ok());
        let expected = members.map_or(0, |chunk| chunk.members.len());
        let expected = u32::try_from(expected).unwrap_or(u32::MAX);
        if found.unwrap_or(0) == expected {
            return Ok(());
        }
        let remedy = self.write_count(&keys[0], counted, (chunk, expected)).await?;
        let row = show_key(&keys[0].to_item());
        let (expected, found) = (i64::from(expected), found.map(i64::from));
        findings.push(self.finding(None, Problem::WrongNumber { row, expected, found }, remedy));
        Ok(())
    }

    /// Writes how many members a chunk has into the directory, if that is unchanged.
    async fn write_count(
        &self,
        key: &RowKey,
        before: Option<Directory>,
        (chunk, count): (u64, u32),
    ) -> Result<Remedy, Error> {
        if self.repair == Repair::No {
            return Ok(Remedy::NotRequested);
        }
        let unchanged = Directory::unchanged(before.as_ref());
        let mut after = before.unwrap_or_default();
        after.version = self.shared.stamps.next()?;
        match count {
            0 => after.counts.remove(&chunk),
            count => after.counts.insert(chunk, count),
        };
        let put = Put::new(&self.shared.table, after.row(key)).when(unchanged);
        self.mend_all(TransactWrite::new(vec![TransactAction::Put(put)])).await
    }

    /// Verifies that the entity of an ordinal implies that it is in a list.
    async fn membership(
        &self,
        membership: &Membership<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Membership { list, ordinal, entity, tenant } = *membership;
        let reader = self.write_context().reader();
        let rows = match reader.numbered(entity, tenant, ordinal).await {
            // The own row is invalid, which is a finding of its own.
            Err(keyloom_query::Error::Unreadable { .. }) => return Ok(()),
            rows => rows?,
        };
        let own = rows.into_iter().next();
        if self.implies_list(own.as_ref(), list) {
            return Ok(());
        }
        // Perhaps a delta says so, or the entity has changed since.
        let memberships = [(list.to_vec(), ordinal)];
        if !reader.are_members(entity, tenant, &memberships).await?.contains(&true) {
            return Ok(());
        }
        let now = reader.numbered(entity, tenant, ordinal).await?.into_iter().next();
        if now != own || self.implies_list(now.as_ref(), list) {
            return Ok(());
        }
        let remedy = self.append(membership, own.as_ref(), false).await?;
        let problem = Problem::GroupWrong { group: show_name(list), number: ordinal };
        findings.push(self.finding(own.as_ref().map(|own| &own.image.key), problem, remedy));
        Ok(())
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
        membership: &Membership<'_>,
        own: Option<&OwnRow>,
        is_in: bool,
    ) -> Result<Remedy, Error> {
        if self.repair == Repair::No {
            return Ok(Remedy::NotRequested);
        }
        let Membership { list, ordinal, entity, tenant } = *membership;
        let (layout, table) = (&self.schema.layouts.current, &self.shared.table);
        let names = |is_named: bool| is_named.then(|| list.to_vec()).into_iter().collect();
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
