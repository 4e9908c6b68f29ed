//! The rows that an item has in indexes.

use keyloom_store::{IndexProjection, IndexSpec, KeySchema, TableSpec};
use keyloom_value::{Item, Name};

/// Returns the row of an item in the index; `None` if the item lacks an index key attribute.
pub(crate) fn index_row(spec: &TableSpec, index: &IndexSpec, item: &Item) -> Option<Item> {
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
pub(crate) fn projects(spec: &TableSpec, index: &IndexSpec, name: &Name) -> bool {
    let is_key = spec.key.has(name) || index.key.has(name);
    match &index.projection {
        IndexProjection::All => true,
        IndexProjection::Keys => is_key,
        IndexProjection::Include(names) => is_key || names.contains(name),
    }
}
