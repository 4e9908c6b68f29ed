//! What an index keeps of an item.

use keyloom_store::{IndexProjection, IndexScope, IndexSpec, KeySchema, TableSpec};
use keyloom_value::{Item, Name, Value};

use crate::json::Writer;
use crate::wire::write_value;

/// The row that the index has of an item; none if the item lacks a part of the index's key.
pub(super) fn index_row(spec: &TableSpec, index: &IndexSpec, item: &Item) -> Option<Item> {
    let is_in = |schema: &KeySchema| {
        schema.attributes().all(|attribute| {
            item.get(attribute.name.as_str()).is_some_and(|value| attribute.key_type.admits(value))
        })
    };
    if !is_in(&index.key) {
        return None;
    }
    let kept = item.iter().filter(|(name, _)| keeps(spec, index, name));
    Some(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Whether the index keeps the attribute.
pub(super) fn keeps(spec: &TableSpec, index: &IndexSpec, name: &Name) -> bool {
    let is_key = spec.key.has(name) || index.key.has(name);
    match &index.projection {
        IndexProjection::All => true,
        IndexProjection::Keys => is_key,
        IndexProjection::Include(names) => is_key || names.contains(name),
    }
}

/// The member `ItemCollectionMetrics`, which only tables with local indexes have. Collections
/// are not measured here, and the estimate says the least that it can.
pub(super) fn write_collection_metrics(w: &mut Writer, spec: &TableSpec, item: &Item) {
    if !has_local_index(spec) {
        return;
    }
    w.name("ItemCollectionMetrics");
    write_collection(w, spec, item);
}

/// One entry of such metrics.
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
