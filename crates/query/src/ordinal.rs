//! Entities by their ordinals.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use keyloom_model::{EntityId, Matching, OwnRow, Unreadable, attribute, ordinal_of};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Value};

use crate::error::unreadable;
use crate::fetch::{RawKey, read_own};
use crate::partition::{IndexRows, ItemsRequest, Partition};
use crate::span::Span;
use crate::{Error, ReadCost, Reader};

/// Ordinals at most this far apart are read together, with those between them: a few more rows are
/// cheaper than another read. Measured.
const GAP_MAX: u64 = 4;
/// How many rows one request for a range of ordinals reads.
const RUN_MAX: usize = 512;

/// The key of an entity that was found by its ordinal.
pub(crate) struct OrdinalKey {
    pub(crate) key: RawKey,
    /// Its position in the list by ordinal, which is also that in lists of that order.
    pub(crate) position: Vec<u8>,
}

/// Entities that were read by their ordinals.
pub(crate) struct OrdinalItems {
    /// Their positions in the list by ordinal, and their own rows.
    pub(crate) items: Vec<(Vec<u8>, Item)>,
    /// Whether none is left.
    pub(crate) is_complete: bool,
}

/// The entities of a kind by their ordinals; of one tenant, if the kind has tenants.
#[derive(Clone, Copy)]
pub(crate) struct Ordinals<'o> {
    pub(crate) reader: &'o Reader<'o>,
    pub(crate) entity: EntityId,
    pub(crate) tenant: Option<&'o Value>,
}

impl Ordinals<'_> {
    /// Returns the keys of the entities that have these ascending ordinals, in their order. An
    /// ordinal without an entity is left out; one that several have by damage comes several times.
    pub(crate) async fn keys(
        &self,
        ordinals: &[u64],
        cost: &mut ReadCost,
    ) -> Result<Vec<OrdinalKey>, Error> {
        match self.reader.layout.matching() {
            Matching::Sets | Matching::Rows => self.keys_by_index(ordinals, cost).await,
            Matching::Chunks => self.keys_by_row(ordinals, cost).await,
        }
    }

    /// Reads the entities that have these ordinals, which are in the order of reading, with their keys;
    /// none if the store cannot do that in one call.
    pub(crate) async fn items(
        &self,
        ordinals: &[u64],
        (direction, bytes_max): (Direction, u64),
        cost: &mut ReadCost,
    ) -> Result<Option<OrdinalItems>, Error> {
        let layout = self.reader.layout;
        let slot = match layout.matching() {
            Matching::Sets | Matching::Rows => layout.ordinals().slot(self.entity),
            Matching::Chunks => None,
        };
        let Some(slot) = slot.filter(|_| !ordinals.is_empty()) else { return Ok(None) };
        let key = layout.ordinals().partition(self.entity, self.tenant);
        let partition = &Partition::of_slot(slot, key.as_bytes())?;
        let rows = IndexRows::Beginning(ordinals.iter().copied().map(ordinal_key).collect());
        let limit = usize::MAX;
        let request = ItemsRequest { partition, rows, direction, limit, bytes_max };
        let Some(page) = request.read(self.reader.rows(), cost).await? else { return Ok(None) };
        let placed = |item| Ok((partition.sort_of(&item)?.to_vec(), item));
        let items = page.items.into_iter().map(placed).collect::<Result<_, Error>>()?;
        Ok(Some(OrdinalItems { items, is_complete: page.next.is_none() }))
    }

    /// By the index of ordinals: adjacent ones are one read.
    async fn keys_by_index(
        &self,
        ordinals: &[u64],
        cost: &mut ReadCost,
    ) -> Result<Vec<OrdinalKey>, Error> {
        let layout = self.reader.layout;
        let Some(slot) = layout.ordinals().slot(self.entity) else { return Ok(vec![]) };
        let key = layout.ordinals().partition(self.entity, self.tenant);
        let partition = Partition::of_slot(slot, key.as_bytes())?;
        let mut found = vec![];
        for run in runs(ordinals) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let mut span = ordinals_span(*first..=*last);
            loop {
                let page = partition.first(&span, RUN_MAX).read(self.reader.rows(), cost).await?;
                for row in &page.items {
                    let wrong = || unreadable(row, Unreadable { attribute: "N" });
                    let sort = partition.sort_of(row)?;
                    let ordinal = ordinal_of(sort).ok_or_else(wrong)?;
                    if run.binary_search(&ordinal).is_ok() {
                        let key = RawKey::of(row).ok_or_else(wrong)?;
                        found.push(OrdinalKey { key, position: sort.to_vec() });
                    }
                }
                let Some(last) = page.items.last().filter(|_| page.last_key.is_some()) else {
                    break;
                };
                span = span.after(partition.sort_of(last)?, Direction::Forward);
            }
        }
        Ok(found)
    }

    /// By the rows of ordinals: any hundred of them are one read.
    async fn keys_by_row(
        &self,
        ordinals: &[u64],
        cost: &mut ReadCost,
    ) -> Result<Vec<OrdinalKey>, Error> {
        let layout = self.reader.layout;
        let row_key = |ordinal: &u64| {
            (&layout.chunks().ordinal_key(self.entity, self.tenant, *ordinal)).into()
        };
        let keys: Vec<RawKey> = ordinals.iter().map(row_key).collect();
        let rows = self.reader.rows().get_many(&keys, cost).await?;
        let mut found = vec![];
        for (ordinal, row) in ordinals.iter().zip(rows) {
            let Some(row) = row else { continue };
            let owner = row.get(attribute::OWNER).and_then(Value::as_b);
            let owner = owner.and_then(|owner| layout.entity_key(owner));
            let wrong = || unreadable(&row, Unreadable { attribute: attribute::OWNER });
            let owner = owner.ok_or_else(wrong)?;
            let position = layout.ordinals().index_key(&owner, *ordinal).sort.into_vec();
            found.push(OrdinalKey { key: RawKey::from(&layout.own_key(&owner)), position });
        }
        Ok(found)
    }

    /// Reads the entities that have these ascending ordinals, visible or not. Of several with the same
    /// one, by damage, the one with the least id.
    pub(crate) async fn entities_with(
        &self,
        ordinals: &[u64],
    ) -> Result<BTreeMap<u64, OwnRow>, Error> {
        let mut cost = ReadCost::default();
        let found = self.keys(ordinals, &mut cost).await?;
        let keys: Vec<RawKey> = found.into_iter().map(|found| found.key).collect();
        let mut entities: BTreeMap<u64, OwnRow> = BTreeMap::new();
        for row in self.reader.rows().get_many(&keys, &mut cost).await?.into_iter().flatten() {
            let own = read_own(self.reader.layout, row)?;
            let Some(ordinal) = own.image.ordinal else { continue };
            let is_less = |other: &OwnRow| own.image.key.id < other.image.key.id;
            if entities.get(&ordinal).is_none_or(is_less) {
                entities.insert(ordinal, own);
            }
        }
        Ok(entities)
    }

    /// Reads the entities that have an ordinal, visible or not: one or none; more only by damage.
    pub(crate) async fn entities(&self, ordinal: u64) -> Result<Vec<OwnRow>, Error> {
        let mut cost = ReadCost::default();
        let keys = self.keys(&[ordinal], &mut cost).await?;
        let keys: Vec<RawKey> = keys.into_iter().map(|found| found.key).collect();
        let rows = self.reader.rows().get_many(&keys, &mut cost).await?;
        rows.into_iter().flatten().map(|row| read_own(self.reader.layout, row)).collect()
    }
}

/// The positions of ordinals.
fn ordinals_span(ordinals: RangeInclusive<u64>) -> Span {
    let [from, last] = [*ordinals.start(), *ordinals.end()].map(ordinal_key);
    Span::ALL.starting_at(Some(from)).ending_at(KeyBytes::after_prefix(&last))
}

/// An ordinal as part of a key.
pub(crate) fn ordinal_key(ordinal: u64) -> Vec<u8> {
    let mut key = KeyBytes::new();
    let pushed = key.push(&Value::from(ordinal));
    debug_assert!(pushed.is_ok(), "an ordinal can be part of a key");
    key.into_vec()
}

/// Ordinals that are read together.
fn runs(ordinals: &[u64]) -> impl Iterator<Item = &[u64]> {
    ordinals.chunk_by(|left, right| right.saturating_sub(*left) <= GAP_MAX)
}
