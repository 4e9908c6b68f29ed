//! A page of rows, and what else is read to verify them: in batches, once for the page.
//!
//! What looks right in these reads is right: every row was as it should be when it was read. What
//! does not is read again by whoever verifies it, in one transaction with the row that implies it.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::{OWNER, PARTITION, SORT};
use keyloom_model::{
    ChunkKeys, Directory, EntityId, EntityKey, OwnRow, Reason, Row, RowKey, RowName,
};
use keyloom_query::Error as QueryError;
use keyloom_value::{Item, Value};

use super::{Finding, Problem, Repair, Verifier};
use crate::error::Error;

/// A row of a page, and what it implies.
pub(super) struct PageRow<'p> {
    pub(super) item: &'p Item,
    pub(super) name: Option<RowName>,
    /// For an own row.
    pub(super) entity: Option<Result<Implying, Problem>>,
}

/// An entity, and all rows that it implies.
pub(super) struct Implying {
    pub(super) own: OwnRow,
    pub(super) rows: Vec<Row>,
}

/// What was read for a page.
#[derive(Default)]
pub(super) struct Seen {
    rows: BTreeMap<RowKey, Item>,
    /// The id of the entity with an ordinal; the least one, if there are several.
    ordinals: BTreeMap<Ordinal, String>,
    /// Which ordinals are in which posting lists that are kept as chunks.
    memberships: BTreeSet<Membership>,
    /// The lists with rows that cannot be read.
    pub(super) unreadable: BTreeSet<Vec<u8>>,
}

/// The row of a group, and an ordinal that is unique in it.
type Ordinal = (RowKey, u64);
/// The name of a posting list, and an ordinal.
pub(super) type Membership = (Vec<u8>, u64);

/// A kind, of one tenant if it has tenants.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) entity: EntityId,
    pub(super) tenant: Option<Value>,
}

impl From<&EntityKey> for Group {
    fn from(key: &EntityKey) -> Group {
        Group { entity: key.entity, tenant: key.tenant.clone() }
    }
}

impl Seen {
    /// A row; none if it was not there, or not read.
    pub(super) fn row(&self, key: &RowKey) -> Option<&Item> {
        self.rows.get(key)
    }

    pub(super) fn is_in(&self, membership: &Membership) -> bool {
        self.memberships.contains(membership)
    }
}

impl Verifier<'_> {
    /// Reads a row of a page.
    pub(super) fn page_row<'p>(&self, item: &'p Item) -> PageRow<'p> {
        let name = self.name_of(item);
        let entity = matches!(name, Some(RowName::Own(_))).then(|| self.implying(item));
        PageRow { item, name, entity }
    }

    fn implying(&self, row: &Item) -> Result<Implying, Problem> {
        let unreadable = |reason: String| Problem::Unreadable { reason };
        let own = self.schema.layouts.current.read_own(row);
        let own = own.map_err(|reason| unreadable(reason.to_string()))?;
        let rows = self.implied_by(&own)?;
        Ok(Implying { own, rows })
    }

    /// Reads what is needed to verify the rows of a page.
    pub(super) async fn look(
        &self,
        page: &[PageRow<'_>],
        findings: &mut Vec<Finding>,
    ) -> Result<Seen, Error> {
        let mut seen = Seen { rows: self.rows_for(page).await?, ..Seen::default() };
        for (group, owners) in self.groups(page) {
            let Group { entity, tenant } = &group;
            let row = self.schema.layouts.current.chunks().group_key(*entity, tenant.as_ref());
            for (ordinal, id) in self.owners(&group, &owners).await? {
                seen.ordinals.insert((row.clone(), ordinal), id);
            }
            self.look_at_lists(&group, &owners, &mut seen).await?;
            if !seen.unreadable.is_empty() {
                let kind = &self.schema.model().entity(*entity).name;
                let what = format!("some posting lists of `{kind}`");
                let reason = "Rows of theirs cannot be read: repair them, and verify again";
                findings.push(self.unchecked(what, reason));
            }
        }
        Ok(seen)
    }

    /// Reads the rows that a page implies, or is implied by.
    async fn rows_for(&self, page: &[PageRow<'_>]) -> Result<BTreeMap<RowKey, Item>, Error> {
        let mut keys = BTreeSet::new();
        for row in page {
            match (&row.entity, &row.name) {
                (Some(Ok(Implying { own, rows })), _) => {
                    let derived = rows.iter().filter(|row| row.reason != Reason::Own);
                    keys.extend(derived.map(|row| row.key.clone()));
                    keys.extend(self.targets_of(own).map(|target| target.own_key));
                    keys.extend(self.numbered_by(own).map(|(_, key)| key));
                }
                (Some(Err(_)), _) => {}
                (None, Some(RowName::System)) => keys.extend(chunk_rows(row.item)),
                (None, _) => keys.extend(self.owner_of(row.item).map(|(_, own_key)| own_key)),
            }
        }
        let keys: Vec<RowKey> = keys.into_iter().filter(RowKey::fits).collect();
        let rows = self.write_context().reader().rows_at(&keys).await?;
        Ok(keys.into_iter().zip(rows).filter_map(|(key, row)| Some((key, row?))).collect())
    }

    /// The entity that a guard, a link or a posting names, and the key of its own row.
    pub(super) fn owner_of(&self, row: &Item) -> Option<(EntityKey, RowKey)> {
        let layout = &self.schema.layouts.current;
        let owner = layout.entity_key(row.get(OWNER).and_then(Value::as_b)?)?;
        let own_key = layout.own_key(&owner);
        Some((owner, own_key))
    }

    /// The entities of a page that have ordinals, by group.
    fn groups<'p>(&self, page: &'p [PageRow<'_>]) -> Vec<(Group, Vec<&'p OwnRow>)> {
        let mut groups: Vec<(Group, Vec<&OwnRow>)> = vec![];
        let entities = page.iter().filter_map(|row| row.entity.as_ref()?.as_ref().ok());
        for own in entities.map(|implying| &implying.own).filter(|own| own.image.ordinal.is_some())
        {
            let group = Group::from(&own.image.key);
            match groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, owners)) => owners.push(own),
                None => groups.push((group, vec![own])),
            }
        }
        groups
    }

    /// Which entities have the ordinals of these.
    async fn owners(
        &self,
        Group { entity, tenant }: &Group,
        owners: &[&OwnRow],
    ) -> Result<Vec<(u64, String)>, Error> {
        let ordinals: BTreeSet<u64> = owners.iter().filter_map(|own| own.image.ordinal).collect();
        let ordinals = Vec::from_iter(ordinals);
        let reader = self.write_context().reader();
        match reader.numbered_all(*entity, tenant.as_ref(), &ordinals).await {
            Ok(rows) => Ok(rows.into_iter().map(|(at, own)| (at, own.image.key.id)).collect()),
            // Each is read alone then.
            Err(QueryError::Unreadable { .. }) => Ok(vec![]),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether an entity is the one with its ordinal.
    pub(super) fn owns_ordinal(&self, own: &OwnRow, ordinal: u64, seen: &Seen) -> bool {
        let key = &own.image.key;
        let chunks = self.schema.layouts.current.chunks();
        let group = chunks.group_key(key.entity, key.tenant.as_ref());
        seen.ordinals.get(&(group, ordinal)) == Some(&key.id)
    }

    /// Reads in which of their posting lists entities are, if these are kept as chunks: deltas once.
    async fn look_at_lists(
        &self,
        group: &Group,
        owners: &[&OwnRow],
        seen: &mut Seen,
    ) -> Result<(), Error> {
        let mut memberships: Vec<Membership> = vec![];
        for own in owners {
            // Invalid fields are a finding of their own.
            let implied = self.schema.layouts.chunked_before(own).unwrap_or_default();
            let at = |list| Some((list, own.image.ordinal?));
            memberships.extend(implied.into_iter().filter_map(at));
        }
        if memberships.is_empty() {
            return Ok(());
        }
        match self.are_members(group, &memberships).await {
            Ok(are_in) => {
                let are_in = memberships.into_iter().zip(are_in);
                seen.memberships.extend(are_in.filter_map(|(at, is_in)| is_in.then_some(at)));
                Ok(())
            }
            // A row of one list cannot be read, or all of them took too long.
            Err(QueryError::Unreadable { .. } | QueryError::Unanswered { .. }) => {
                self.look_at_each_list(group, memberships, seen).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn look_at_each_list(
        &self,
        group: &Group,
        memberships: Vec<Membership>,
        seen: &mut Seen,
    ) -> Result<(), Error> {
        let mut lists: BTreeMap<Vec<u8>, Vec<Membership>> = BTreeMap::new();
        for membership in memberships {
            lists.entry(membership.0.clone()).or_default().push(membership);
        }
        for (list, memberships) in lists {
            match self.are_members(group, &memberships).await {
                Ok(are_in) => {
                    let are_in = memberships.into_iter().zip(are_in);
                    seen.memberships.extend(are_in.filter_map(|(at, is_in)| is_in.then_some(at)));
                }
                Err(QueryError::Unreadable { .. }) => drop(seen.unreadable.insert(list)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(super) async fn are_members(
        &self,
        Group { entity, tenant }: &Group,
        memberships: &[Membership],
    ) -> Result<Vec<bool>, QueryError> {
        let reader = self.write_context().reader();
        reader.are_members(*entity, tenant.as_ref(), memberships).await
    }

    /// How many rows are verified at once. Repairs follow each other: two of them can concern the same
    /// row.
    pub(super) fn together(&self) -> usize {
        match self.repair {
            Repair::No => 16,
            Repair::Yes => 1,
        }
    }
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
