//! Index rows of an item.

use keyloom_store::{IndexProjection, IndexScope, IndexSpec, KeySchema, TableSpec};
use keyloom_value::{Item, Name, Value};

use crate::json::Writer;
use crate::wire::write_value;

/// Returns the row of an item in the index; `None` if the item lacks an index key attribute.
pub(super) fn index_row(spec: &TableSpec, index: &IndexSpec, item: &Item) -> Option<Item> {
    let is_in = |schema: &KeySchema| {
        schema.attributes().all(|attribute| {
            item.get(attribute.name.as_str()).is_some_and(|value| attribute.key_type.admits(value))
        })
    };
    if !is_in(&index.key) {
        return None;
    }
    let kept = item.iter().filter(|(name, _)| projects(spec, index, name));
    Some(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Returns whether the index projects the attribute.
pub(super) fn projects(spec: &TableSpec, index: &IndexSpec, name: &Name) -> bool {
    let is_key = spec.key.has(name) || index.key.has(name);
    match &index.projection {
        IndexProjection::All => true,
        IndexProjection::Keys => is_key,
        IndexProjection::Include(names) => is_key || names.contains(name),
    }
}

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
