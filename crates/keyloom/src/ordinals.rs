//! Ordinals of entities that can be filtered by tags or facets, in ascending order for each kind and
//! tenant. They are allocated from a row of the table in blocks, so that creates do not queue at that
//! row. The rest of a block is lost when the process ends.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_model::RowKey;
use keyloom_store::{Returns, Store, TableName, UpdateItem};
use keyloom_value::{Number, Path, Update, Value};

use crate::error::Error;

/// The size of the first block, and the maximum: each is twice the previous one.
const PORTION_MIN: u64 = 8;
const PORTION_MAX: u64 = 4096;

/// The attribute of the row: the first free ordinal.
const NEXT: &str = "next";

/// Allocates ordinals.
#[derive(Debug, Default)]
pub(crate) struct Ordinals {
    supplies: Mutex<HashMap<RowKey, Supply>>,
}

/// The allocated ordinals of one kind and tenant.
#[derive(Debug, Default)]
struct Supply {
    left: VecDeque<Range<u64>>,
    portion: u64,
}

impl Ordinals {
    /// Returns the next ordinal of the kind and tenant that a row belongs to.
    pub(crate) async fn next(
        &self,
        store: &dyn Store,
        table: &TableName,
        row: &RowKey,
    ) -> Result<u64, Error> {
        if let Some(number) = self.take(row) {
            return Ok(number);
        }
        let portion = self.grow(row);
        let add = Update::new().add(Path::from(NEXT), Value::from(portion));
        let update = UpdateItem::new(table, row.to_item(), add).returning(Returns::UpdatedNew);
        let image = store.update(update).await?;
        let end = image.as_ref().and_then(|image| image.get(NEXT)).and_then(Value::as_n);
        let end = end.and_then(Number::to_i64).and_then(|end| u64::try_from(end).ok());
        let first = end.and_then(|end| end.checked_sub(portion)).ok_or_else(|| {
            Error::damaged("The row that allocates ordinals cannot be read, or has no more.")
        })?;
        let mut supplies = self.lock();
        let left = &mut supplies.entry(row.clone()).or_default().left;
        left.push_back(first + 1..first + portion);
        Ok(first)
    }

    fn take(&self, row: &RowKey) -> Option<u64> {
        let mut supplies = self.lock();
        let left = &mut supplies.get_mut(row)?.left;
        while let Some(numbers) = left.front_mut() {
            if let Some(number) = numbers.next() {
                return Some(number);
            }
            left.pop_front();
        }
        None
    }

    /// Returns the size of the next block.
    fn grow(&self, row: &RowKey) -> u64 {
        let mut supplies = self.lock();
        let supply = supplies.entry(row.clone()).or_default();
        supply.portion = (supply.portion * 2).clamp(PORTION_MIN, PORTION_MAX);
        supply.portion
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RowKey, Supply>> {
        self.supplies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
