//! Which rows derive from an item: the one function behind writes, index builds and checks.

use std::borrow::Cow;

use keyloom_value::{Item, KeyBytes, Value};

use crate::index::{in_index, projected};
use crate::limits::TTL_AGE_SECS_MAX;
use crate::ttl::expires_at_secs;
use crate::{Error, IndexProjection, IndexSpec, Time};

use super::format::{Derived, DerivedKind, SpaceId, TableRecord, encode_item, encode_size};
use super::tree::RowRange;

/// A row that derives from an item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DerivedRow<'a> {
    pub(crate) row: Vec<u8>,
    pub(crate) value: Cow<'a, [u8]>,
}

/// Returns the row of an item in an index or in the time-to-live list, if it has one. `key` is the
/// item's own key, `encoded` the item itself.
pub(crate) fn derived_row<'a>(
    table: &TableRecord,
    derived: &Derived,
    item: &Item,
    key: &[u8],
    encoded: &'a [u8],
) -> Result<Option<DerivedRow<'a>>, Error> {
    match &derived.kind {
        // One row holds the cells of many items.
        DerivedKind::Sets | DerivedKind::Column(_) => Ok(None),
        DerivedKind::Expiry => Ok(expiry_row(table, derived.space, item, key)),
        DerivedKind::Index(name) => {
            let Some(index) = table.spec.indexes.iter().find(|index| index.name == *name) else {
                return Ok(None);
            };
            if !in_index(index, item) {
                return Ok(None);
            }
            let mut row = derived.space.row(index.key.encode(item)?.as_bytes());
            row.extend_from_slice(key);
            let value = match index.projection {
                IndexProjection::All => Cow::Borrowed(encoded),
                IndexProjection::Keys => Cow::Owned(encode_size(key_size(table, index, item))),
                IndexProjection::Include(_) => {
                    Cow::Owned(encode_item(&projected(&table.spec, index, item)))
                }
            };
            Ok(Some(DerivedRow { row, value }))
        }
    }
}

/// Returns the size of an item reduced to the keys of its table and of an index.
fn key_size(table: &TableRecord, index: &IndexSpec, item: &Item) -> usize {
    let own = table.spec.key.attributes();
    let others = index.key.attributes().filter(|attribute| !table.spec.key.has(&attribute.name));
    let size = |name: &str| item.get(name).map_or(0, |value| name.len() + value.size());
    own.chain(others).map(|attribute| size(attribute.name.as_str())).sum()
}

fn expiry_row<'a>(
    table: &TableRecord,
    space: SpaceId,
    item: &Item,
    key: &[u8],
) -> Option<DerivedRow<'a>> {
    let attribute = table.spec.ttl.as_ref()?;
    let mut row = expiry_bound(space, expires_at_secs(attribute, item)?);
    row.extend_from_slice(key);
    Some(DerivedRow { row, value: Cow::Borrowed(&[]) })
}

/// Returns the rows of the time-to-live list whose items have expired, but not so long ago that the
/// time must be a mistake.
pub(crate) fn expired_rows(space: SpaceId, now: Time) -> RowRange {
    let now_secs = i64::try_from(now.secs()).unwrap_or(i64::MAX);
    let oldest = now_secs.saturating_sub(TTL_AGE_SECS_MAX);
    (expiry_bound(space, oldest), expiry_bound(space, now_secs))
}

/// Returns the bound before which the rows of all items are that expire earlier.
fn expiry_bound(space: SpaceId, secs: i64) -> Vec<u8> {
    let mut time = KeyBytes::new();
    let pushed = time.push(&Value::N(secs.into()));
    debug_assert!(pushed.is_ok(), "a number can be part of a key");
    space.row(time.as_bytes())
}
