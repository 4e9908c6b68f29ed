//! What else is read to verify a page of rows: in batches, once for the page.
//!
//! What looks right in these reads is right: every row was as it should be when it was read. What
//! does not is read again by whoever verifies it, in one transaction with the row that implies it.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{ChunkKeys, Directory, EntityKey, OwnRow, Reason, RowKey, RowName};
use keyloom_query::Error as QueryError;
use keyloom_value::{Item, Value};

use super::expected::{Group, Implying, Membership, PageRow};
use super::findings::Findings;
use super::step::Step;
use crate::error::Error;

/// What was read for a page.
pub(super) struct Seen {
    rows: BTreeMap<RowKey, Item>,
    /// The id of the entity with an ordinal; the least one, if there are several.
    ordinals: BTreeMap<Ordinal, String>,
    lists: SeenLists,
}

/// The row of a group, and an ordinal that is unique in it.
type Ordinal = (RowKey, u64);

/// What was read of posting lists that are kept as chunks.
#[derive(Default)]
struct SeenLists {
    /// Which ordinals are in which lists.
    memberships: BTreeSet<Membership>,
    /// The lists with rows that cannot be read.
    unreadable: BTreeSet<Vec<u8>>,
}

impl Seen {
    /// Reads what is needed to verify the rows of a page.
    pub(super) async fn read(
        step: &Step<'_>,
        page: &[PageRow<'_>],
        findings: &mut Findings<'_>,
    ) -> Result<Seen, Error> {
        let rows = read_rows(step, page).await?;
        let mut seen = Seen { rows, ordinals: BTreeMap::new(), lists: SeenLists::default() };
        for (group, owners) in groups(page) {
            let row = group_key(step, &group);
            for (ordinal, id) in read_owners(step, &group, &owners).await? {
                seen.ordinals.insert((row.clone(), ordinal), id);
            }
            seen.lists.read(step, &group, &owners).await?;
            if !seen.lists.unreadable.is_empty() {
                let kind = &step.schema.model().entity(group.entity).name;
                let what = format!("some posting lists of `{kind}`");
                let reason = "Rows of theirs cannot be read: repair them, and verify again";
                findings.unchecked(what, reason);
            }
        }
        Ok(seen)
    }

    /// A row; none if it was not there, or not read.
    pub(super) fn row(&self, key: &RowKey) -> Option<&Item> {
        self.rows.get(key)
    }

    /// Whether an entity is the one with an ordinal.
    pub(super) fn owns_ordinal(&self, step: &Step<'_>, key: &EntityKey, ordinal: u64) -> bool {
        let group = group_key(step, &Group::from(key));
        self.ordinals.get(&(group, ordinal)) == Some(&key.id)
    }

    /// Whether an ordinal is in a list, or its list cannot be read.
    pub(super) fn may_be_in(&self, membership: &Membership) -> bool {
        self.lists.memberships.contains(membership) || self.lists.unreadable.contains(&membership.0)
    }
}

/// Reads the rows that a page implies, or is implied by.
async fn read_rows(step: &Step<'_>, page: &[PageRow<'_>]) -> Result<BTreeMap<RowKey, Item>, Error> {
    let expected = step.expected();
    let mut keys = BTreeSet::new();
    for row in page {
        match (&row.entity, &row.name) {
            (Some(Ok(Implying { own, rows })), _) => {
                let derived = rows.iter().filter(|row| row.reason != Reason::Own);
                keys.extend(derived.map(|row| row.key.clone()));
                keys.extend(expected.targets_of(own).map(|target| target.own_key));
                keys.extend(expected.number_of(own).map(|numbered| numbered.sequence));
            }
            (Some(Err(_)), _) => {}
            (None, Some(RowName::System)) => keys.extend(chunk_rows(row.item)),
            (None, _) => keys.extend(expected.owner_of(row.item).map(|owner| owner.own_key)),
        }
    }
    let keys: Vec<RowKey> = keys.into_iter().filter(RowKey::fits).collect();
    let rows = step.reader().rows_at(&keys).await?;
    Ok(keys.into_iter().zip(rows).filter_map(|(key, row)| Some((key, row?))).collect())
}

/// The rows that a directory or a chunk is compared with.
fn chunk_rows(row: &Item) -> Vec<RowKey> {
    let part = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
    let (partition, sort) = (part(PARTITION), part(SORT));
    if let Some((list, _)) = ChunkKeys::read_chunk_key(partition, sort) {
        return vec![ChunkKeys::directory_key(list.as_bytes())];
    }
    let list = ChunkKeys::read_directory_key(partition, sort);
    let (Some(list), Ok(directory)) = (list, Directory::read(row)) else { return vec![] };
    let chunks = directory.counts.keys();
    chunks.map(|chunk| ChunkKeys::chunk_key(list.as_bytes(), *chunk)).collect()
}

/// The entities of a page that have ordinals, by group.
fn groups<'p>(page: &'p [PageRow<'_>]) -> Vec<(Group, Vec<&'p OwnRow>)> {
    let mut groups: Vec<(Group, Vec<&OwnRow>)> = vec![];
    let entities = page.iter().filter_map(|row| row.entity.as_ref()?.as_ref().ok());
    for own in entities.map(|implying| &implying.own).filter(|own| own.image.ordinal.is_some()) {
        let group = Group::from(&own.image.key);
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, owners)) => owners.push(own),
            None => groups.push((group, vec![own])),
        }
    }
    groups
}

fn group_key(step: &Step<'_>, Group { entity, tenant }: &Group) -> RowKey {
    step.layout().chunks().group_key(*entity, tenant.as_ref())
}

/// Reads which entities have the ordinals of these.
async fn read_owners(
    step: &Step<'_>,
    Group { entity, tenant }: &Group,
    owners: &[&OwnRow],
) -> Result<Vec<(u64, String)>, Error> {
    let ordinals: BTreeSet<u64> = owners.iter().filter_map(|own| own.image.ordinal).collect();
    let ordinals = Vec::from_iter(ordinals);
    match step.reader().numbered_all(*entity, tenant.as_ref(), &ordinals).await {
        Ok(rows) => Ok(rows.into_iter().map(|(at, own)| (at, own.image.key.id)).collect()),
        // Each is read alone then.
        Err(QueryError::Unreadable { .. }) => Ok(vec![]),
        Err(error) => Err(error.into()),
    }
}

impl SeenLists {
    /// Reads in which of their posting lists entities are, if these are kept as chunks: deltas once.
    async fn read(
        &mut self,
        step: &Step<'_>,
        group: &Group,
        owners: &[&OwnRow],
    ) -> Result<(), Error> {
        let mut memberships: Vec<Membership> = vec![];
        for own in owners {
            // Invalid fields are a finding of their own.
            let implied = step.schema.layouts.chunked_before(own).unwrap_or_default();
            let at = |list| Some((list, own.image.ordinal?));
            memberships.extend(implied.into_iter().filter_map(at));
        }
        if memberships.is_empty() {
            return Ok(());
        }
        match step.are_members(group, &memberships).await {
            Ok(are_in) => {
                self.add(memberships, are_in);
                Ok(())
            }
            // A row of one list cannot be read, or all of them took too long.
            Err(QueryError::Unreadable { .. } | QueryError::Unanswered { .. }) => {
                self.read_each(step, group, memberships).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn read_each(
        &mut self,
        step: &Step<'_>,
        group: &Group,
        memberships: Vec<Membership>,
    ) -> Result<(), Error> {
        let mut lists: BTreeMap<Vec<u8>, Vec<Membership>> = BTreeMap::new();
        for membership in memberships {
            lists.entry(membership.0.clone()).or_default().push(membership);
        }
        for (list, memberships) in lists {
            match step.are_members(group, &memberships).await {
                Ok(are_in) => self.add(memberships, are_in),
                Err(QueryError::Unreadable { .. }) => drop(self.unreadable.insert(list)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn add(&mut self, memberships: Vec<Membership>, are_in: Vec<bool>) {
        let are_in = memberships.into_iter().zip(are_in);
        self.memberships.extend(are_in.filter_map(|(at, is_in)| is_in.then_some(at)));
    }
}
