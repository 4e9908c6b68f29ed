//! Expired entities that still exist.

use keyloom_model::attribute::PARTITION;
use keyloom_model::{EntityId, EntityKey, Unreadable};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Value};

use crate::fetch::unreadable;
use crate::partition::Partition;
use crate::span::Span;
use crate::{Error, ReadCost, Reader};

/// A page of what has expired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiredPage {
    /// Which entities.
    pub keys: Vec<EntityKey>,
    /// The position after which the next page begins; absent if nothing follows for sure.
    pub next: Option<Vec<u8>>,
}

impl Reader<'_> {
    /// Returns entities of a kind that have expired and still exist: those that expired first come
    /// first, at most `limit`, after a position that came with the ones before. One read. An index can
    /// lag: check each again before deleting it.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn expired(
        &self,
        entity: EntityId,
        after: Option<&[u8]>,
        limit: u32,
    ) -> Result<ExpiredPage, Error> {
        let Some(slot) = self.layout.expiry().slot(entity) else {
            return Ok(ExpiredPage::default());
        };
        let key = self.layout.expiry().partition(entity);
        let mut now = KeyBytes::new();
        let pushed = now.push(&Value::from(self.now_ms));
        debug_assert!(pushed.is_ok(), "a number can be part of a key");
        let mut span = Span::new(None, KeyBytes::after_prefix(now.as_bytes()));
        if let Some(after) = after {
            span = span.after(after, Direction::Forward);
        }
        let partition = Partition::of_slot(slot, key.as_bytes())?;
        let request = partition.first(&span, limit.max(1) as usize);
        let page = self.page(request, &mut ReadCost::default()).await?;
        let key = |row: &Item| {
            let partition = row.get(PARTITION).and_then(Value::as_b);
            let key = partition.and_then(|partition| self.layout.entity_key(partition));
            key.ok_or_else(|| unreadable(row, Unreadable { attribute: PARTITION }))
        };
        let last = page.items.last().filter(|_| page.last_key.is_some());
        let next = last.map(|row| partition.sort_of(row).map(<[u8]>::to_vec)).transpose()?;
        let keys = page.items.iter().map(key).collect::<Result<_, Error>>()?;
        Ok(ExpiredPage { keys, next })
    }
}
