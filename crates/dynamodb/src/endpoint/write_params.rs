//! Parameters that all writes share.

use keyloom_store::TableSpec;
use keyloom_value::Item;

use crate::json::Writer;
use crate::wire::Fault;

use super::capacity::{self, Consumed, Detail};
use super::indexes::write_collection_metrics;
use super::params::Params;
use super::violations::{CAPACITY, METRICS, ON_FAILURE, Violations};

/// Bytes of an item.
const ITEM_BYTES_MAX: usize = 400 * 1024;

/// What a write can return besides an image.
#[derive(Clone, Copy)]
pub(super) struct WriteExtras {
    pub(super) detail: Detail,
    pub(super) metrics: bool,
}

impl WriteExtras {
    pub(super) fn read(params: &Params<'_>) -> Result<WriteExtras, Fault> {
        let metrics = params.text("ReturnItemCollectionMetrics")? == Some("SIZE");
        Ok(WriteExtras { detail: Detail::read(params)?, metrics })
    }

    pub(super) fn is_requested(self) -> bool {
        self.detail.is_requested() || self.metrics
    }

    /// Writes what was requested; `item` contains the partition key.
    pub(super) fn write(self, w: &mut Writer, consumed: &Consumed, spec: &TableSpec, item: &Item) {
        capacity::write_one(w, self.detail, consumed);
        if self.metrics {
            write_collection_metrics(w, spec, item);
        }
    }
}

/// Checks the constraints that all single-item writes share.
pub(super) fn write_violations(params: &Params<'_>) -> Result<Violations, Fault> {
    let mut violations = Violations::default();
    let text = |name| params.text(name);
    violations.one_of("returnConsumedCapacity", text("ReturnConsumedCapacity")?, CAPACITY);
    violations.table_name(text("TableName")?);
    violations.return_values(text("ReturnValues")?);
    let metrics = text("ReturnItemCollectionMetrics")?;
    violations.one_of("returnItemCollectionMetrics", metrics, METRICS);
    let on_failure = text("ReturnValuesOnConditionCheckFailure")?;
    violations.one_of("returnValuesOnConditionCheckFailure", on_failure, ON_FAILURE);
    Ok(violations)
}

/// Rejects an item that is too large for every table, before the table is looked up.
pub(super) fn check_size(item: &Item) -> Result<(), Fault> {
    match item.size() > ITEM_BYTES_MAX {
        true => Err(Fault::validation("Item size has exceeded the maximum allowed size")),
        false => Ok(()),
    }
}
