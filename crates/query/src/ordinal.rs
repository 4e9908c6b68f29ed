//! Entities by their ordinals.

use keyloom_model::{EntityId, Matching, OwnRow, ordinal_of};
use keyloom_store::{Direction, TableName};
use keyloom_value::{KeyBytes, Value};

use crate::fetch::{RawKey, unreadable};
use crate::nodes::Owners;
use crate::span::{Place, Span};
use crate::{Error, ReadCost, Reader};

/// Ordinals that are so close are read together, with those between them: some rows more are cheaper
/// than a read more. Measured, where the store has sets; it is on this machine.
const GAP_MAX: u64 = 4;
/// The same where it may be far away.
const GAP_FAR_MAX: u64 = 8;
/// As many entities as a range of ordinals is read at once for.
const RUN_MAX: usize = 512;

/// The key of an entity that was found by its ordinal.
pub(crate) struct OrdinalKey {
    pub(crate) key: RawKey,
    /// Its position in the list by ordinal, which is also that in lists of that order.
    pub(crate) position: Vec<u8>,
}

impl Reader<'_> {
    /// The keys of the entities that have these ascending ordinals, in their order. An ordinal that
    /// nobody has is left out; one that several have by damage comes several times.
    pub(crate) async fn ordinal_keys(
        &self,
        (entity, tenant): (EntityId, Option<&Value>),
        ordinals: &[u64],
        cost: &mut ReadCost,
    ) -> Result<Vec<OrdinalKey>, Error> {
        let Some(slot) = self.layout.ordinals().slot(entity) else { return Ok(vec![]) };
        let partition = self.layout.ordinals().partition(entity, tenant);
        let place = Place {
            index: Some(TableName::new(&slot.name()).map_err(keyloom_store::Error::from)?),
            partition: (slot.partition(), partition.as_bytes()),
            sort: slot.sort(),
        };
        let mut found = vec![];
        let gap_max = match self.layout.matching() {
            Matching::Sets => GAP_MAX,
            Matching::Rows => GAP_FAR_MAX,
        };
        for run in runs(ordinals, gap_max) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let mut span = ordinals_span(*first, *last);
            loop {
                let page = self.page(&place, &span, Direction::Forward, RUN_MAX).await?;
                cost.rows += page.scanned;
                cost.bytes += page.scanned_bytes;
                let mut position = None;
                for row in &page.items {
                    let sort = row.get(place.sort.as_str()).and_then(Value::as_b);
                    let wrong = || unreadable(row, keyloom_model::Unreadable { attribute: "N" });
                    let sort = sort.ok_or_else(wrong)?;
                    let ordinal = ordinal_of(sort).ok_or_else(wrong)?;
                    if run.binary_search(&ordinal).is_ok() {
                        let key = RawKey::of(row).ok_or_else(wrong)?;
                        found.push(OrdinalKey { key, position: sort.to_vec() });
                    }
                    position = Some(sort.to_vec());
                }
                match (page.last_key, position) {
                    (Some(_), Some(position)) => {
                        span = span.after(&position, Direction::Forward);
                    }
                    (Some(_) | None, _) => break,
                }
            }
        }
        Ok(found)
    }

    /// The keys of the entities that have these ordinals, without a read; none if not all owners are
    /// known.
    pub(crate) fn owned_keys(&self, ordinals: &[u64], owners: &Owners) -> Option<Vec<OrdinalKey>> {
        let found = |ordinal: &u64| {
            let owner = self.layout.entity_key(owners.get(ordinal)?)?;
            let position = self.layout.ordinals().index_key(&owner, *ordinal).sort;
            let key = RawKey::from(&self.layout.own_key(&owner));
            Some(OrdinalKey { key, position: position.into_vec() })
        };
        ordinals.iter().map(found).collect()
    }

    /// The entities that have an ordinal: one, or none; more only by damage. Also those that are not
    /// seen any more.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn numbered(
        &self,
        entity: EntityId,
        tenant: Option<&Value>,
        ordinal: u64,
    ) -> Result<Vec<OwnRow>, Error> {
        let mut cost = ReadCost::default();
        let keys = self.ordinal_keys((entity, tenant), &[ordinal], &mut cost).await?;
        let keys: Vec<RawKey> = keys.into_iter().map(|found| found.key).collect();
        let rows = self.rows(&keys, &mut cost).await?;
        rows.into_iter().flatten().map(|row| self.read_own(row)).collect()
    }
}

fn ordinals_span(first: u64, last: u64) -> Span {
    Span::new(Some(ordinal_key(first)), KeyBytes::after_prefix(&ordinal_key(last)))
}

/// An ordinal as part of a key.
pub(crate) fn ordinal_key(ordinal: u64) -> Vec<u8> {
    let mut key = KeyBytes::new();
    let pushed = key.push(&Value::from(ordinal));
    debug_assert!(pushed.is_ok(), "an ordinal can be part of a key");
    key.into_vec()
}

/// Ordinals that are read together.
fn runs(ordinals: &[u64], gap_max: u64) -> impl Iterator<Item = &[u64]> {
    ordinals.chunk_by(move |left, right| right.saturating_sub(*left) <= gap_max)
}
