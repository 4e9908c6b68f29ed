//! What has expired and is still there.

use keyloom_model::attribute::PARTITION;
use keyloom_model::{EntityId, EntityKey, Unreadable};
use keyloom_store::{Direction, TableName};
use keyloom_value::{KeyBytes, Value};

use crate::fetch::unreadable;
use crate::span::{Place, Span};
use crate::{Error, Reader};

impl Reader<'_> {
    /// Entities of a kind that have expired by now and are still there: those that expired first
    /// first, at most `limit`. One read. An index can lag: look at each again before it is deleted.
    ///
    /// # Errors
    ///
    /// If the store fails, or a row is damaged.
    pub async fn expired(&self, entity: EntityId, limit: u32) -> Result<Vec<EntityKey>, Error> {
        let Some(slot) = self.layout.expiry_slot(entity) else { return Ok(vec![]) };
        let partition = self.layout.expiry_partition(entity);
        let mut now = KeyBytes::new();
        let pushed = now.push(&Value::from(self.now_ms));
        debug_assert!(pushed.is_ok(), "a number can be part of a key");
        let span = Span::new(None, KeyBytes::after_prefix(now.as_bytes()));
        let place = Place {
            index: Some(TableName::new(&slot.name()).map_err(keyloom_store::Error::from)?),
            partition: (slot.partition(), partition.as_bytes()),
            sort: slot.sort(),
        };
        let page = self.page(&place, &span, Direction::Forward, limit.max(1) as usize).await?;
        let key = |row| {
            let partition: Option<&[u8]> = Value::as_b(keyloom_value::Item::get(row, PARTITION)?);
            self.layout.entity_key(partition?)
        };
        let wrong = |row| unreadable(row, Unreadable { attribute: PARTITION });
        page.items.iter().map(|row| key(row).ok_or_else(|| wrong(row))).collect()
    }
}
