//! The records of deletions, as read from the table.

use keyloom_model::attribute::SORT;
use keyloom_query::{DeletionState, deletion_key};
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::error::Error;
use crate::shared::Shared;
use crate::system_rows::system_rows;
use crate::write::{DeletionRecord, LEFT, TOTAL};

/// A deletion that has not ended.
pub(super) struct OpenDeletion {
    pub(super) record: DeletionRecord,
    /// None if it is invalid.
    pub(super) state: Option<DeletionState>,
    pub(super) left: u64,
    /// How many entities and references were marked.
    pub(super) total: u64,
    pub(super) row: Item,
}

impl OpenDeletion {
    /// Reads all records. One query.
    pub(super) async fn all(shared: &Shared) -> Result<Vec<OpenDeletion>, Error> {
        let rows = system_rows(&*shared.store, &shared.table, deletion_key("").partition).await?;
        Ok(rows.into_iter().filter_map(OpenDeletion::read).collect())
    }

    /// Whether it is too large for one transaction: then its record counts what was marked.
    pub(super) fn is_large(&self) -> bool {
        self.row.contains(LEFT)
    }

    fn read(row: Item) -> Option<OpenDeletion> {
        let sort = KeyBytes::decode(row.get(SORT)?.as_b()?).ok()?;
        let record = DeletionRecord::new(sort.first()?.as_s()?);
        let number = |name| {
            let number = row.get(name).and_then(Value::as_n).and_then(Number::to_i64);
            number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
        };
        let (left, total) = (number(LEFT), number(TOTAL));
        Some(OpenDeletion { record, state: DeletionState::read(&row).ok(), left, total, row })
    }
}
