//! Expired entities that still exist.

use keyloom_model::attribute::PARTITION;
use keyloom_model::{EntityId, EntityKey, Unreadable};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Value};

use crate::error::unreadable;
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

/// The expired entities of a kind.
pub(crate) struct Expired<'e> {
    pub(crate) reader: &'e Reader<'e>,
    pub(crate) entity: EntityId,
}

impl Expired<'_> {
    /// Returns at most `limit` of them after a position, those that expired first.
    pub(crate) async fn page(
        &self,
        after: Option<&[u8]>,
        limit: u32,
    ) -> Result<ExpiredPage, Error> {
        let Some(slot) = self.reader.layout.expiry().slot(self.entity) else {
            return Ok(ExpiredPage::default());
        };
        let key = self.reader.layout.expiry().partition(self.entity);
        let mut now = KeyBytes::new();
        let pushed = now.push(&Value::from(self.reader.now_ms));
        debug_assert!(pushed.is_ok(), "a number can be part of a key");
        let mut span = Span::ALL.ending_at(KeyBytes::after_prefix(now.as_bytes()));
        if let Some(after) = after {
            span = span.after(after, Direction::Forward);
        }
        let partition = Partition::of_slot(slot, key.as_bytes())?;
        let request = partition.first(&span, limit.max(1) as usize);
        let page = request.read(self.reader.rows(), &mut ReadCost::default()).await?;
        let key = |row: &Item| {
            let partition = row.get(PARTITION).and_then(Value::as_b);
            let key = partition.and_then(|partition| self.reader.layout.entity_key(partition));
            key.ok_or_else(|| unreadable(row, Unreadable { attribute: PARTITION }))
        };
        let last = page.items.last().filter(|_| page.last_key.is_some());
        let next = last.map(|row| partition.sort_of(row).map(<[u8]>::to_vec)).transpose()?;
        let keys = page.items.iter().map(key).collect::<Result<_, Error>>()?;
        Ok(ExpiredPage { keys, next })
    }
}
