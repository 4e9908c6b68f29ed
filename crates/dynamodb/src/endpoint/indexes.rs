//! Metrics of item collections, and local indexes.

use keyloom_store::{IndexScope, TableSpec};
use keyloom_value::{Item, Value};

use crate::json::Writer;
use crate::wire::write_value;

/// Writes `ItemCollectionMetrics`, which only tables with local indexes have. Collection sizes are
/// not tracked, so the estimate is always the smallest range.
pub(super) fn write_collection_metrics(w: &mut Writer, spec: &TableSpec, item: &Item) {
    if !has_local_index(spec) {
        return;
    }
    w.name("ItemCollectionMetrics");
    write_collection(w, spec, item);
}

/// Writes the metrics of one item collection.
pub(super) fn write_collection(w: &mut Writer, spec: &TableSpec, item: &Item) {
    w.object(|w| {
        w.name("ItemCollectionKey").object(|w| {
            for attribute in &spec.key.partition {
                let value = item.get(attribute.name.as_str()).unwrap_or(&Value::Null);
                write_value(w.name(attribute.name.as_str()), value);
            }
        });
        w.name("SizeEstimateRangeGB").list(|w| {
            w.number("0.0");
            w.number("1.0");
        });
    });
}

pub(super) fn has_local_index(spec: &TableSpec) -> bool {
    spec.indexes.iter().any(|index| index.scope == IndexScope::Local)
}
