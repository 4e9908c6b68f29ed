//! What has expired and is still there.

use keyloom_model::attribute::PARTITION;
use keyloom_model::{EntityId, EntityKey, Unreadable};
use keyloom_store::{Direction, TableName};
use keyloom_value::{Item, KeyBytes, Value};

use crate::fetch::unreadable;
use crate::span::{Place, Span};
use crate::{Error, Reader};

/// A page of what has expired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiredPage {
    /// Which entities.
    pub keys: Vec<EntityKey>,
    /// After which place the next page begins; absent if nothing follows for sure.
    pub next: Option<Vec<u8>>,
}

impl Reader<'_> {
    /// Entities of a kind that have expired by now and are still there: those that expired first
    /// first, at most `limit`, after a place that came with the ones before. One read. An index can
    /// lag: look at each again before it is deleted.
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
        let partition = self.layout.expiry().partition(entity);
        let mut now = KeyBytes::new();
        let pushed = now.push(&Value::from(self.now_ms));
        debug_assert!(pushed.is_ok(), "a number can be part of a key");
        let mut span = Span::new(None, KeyBytes::after_prefix(now.as_bytes()));
        if let Some(after) = after {
            span = span.after(after, Direction::Forward);
        }
        let place = Place {
            index: Some(TableName::new(&slot.name()).map_err(keyloom_store::Error::from)?),
            partition: (slot.partition(), partition.as_bytes()),
            sort: slot.sort(),
        };
        let page = self.page(&place, &span, Direction::Forward, limit.max(1) as usize).await?;
        let key = |row: &Item| {
            let partition = row.get(PARTITION).and_then(Value::as_b);
            let key = partition.and_then(|partition| self.layout.entity_key(partition));
            key.ok_or_else(|| unreadable(row, Unreadable { attribute: PARTITION }))
        };
        let last = page.items.last().and_then(|row| row.get(slot.sort().as_str())?.as_b());
        let next = page.last_key.as_ref().and(last).map(<[u8]>::to_vec);
        let keys = page.items.iter().map(key).collect::<Result<_, Error>>()?;
        Ok(ExpiredPage { keys, next })
    }
}
