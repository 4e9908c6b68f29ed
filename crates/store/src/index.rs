//! The contents of an index: which items, and which of their attributes. Pure functions of an
//! index's spec and an item; each store decides how to keep the rows.

use keyloom_value::{Item, Name};

use crate::{IndexProjection, IndexScope, IndexSpec, Select, TableSpec, validate};

/// Whether the index holds the item.
///
/// It does not if a key attribute is missing (the index is sparse) or invalid as a key: an index
/// added to a table in use skips items that were written before it could refuse them.
pub(crate) fn in_index(index: &IndexSpec, item: &Item) -> bool {
    validate::key_parts(&index.key).all(|(attribute, bytes_max)| {
        item.get(attribute.name.as_str())
            .is_some_and(|value| validate::key_value(attribute, bytes_max, value).is_ok())
    })
}

/// Returns the part of an item that the index projects.
pub(crate) fn projected(spec: &TableSpec, index: &IndexSpec, item: &Item) -> Item {
    let mut kept = Item::default();
    for (name, value) in item.iter() {
        if projects(spec, index, name) {
            kept.insert(name.clone(), value.clone());
        }
    }
    kept
}

/// Whether the index projects the attribute.
pub(crate) fn projects(spec: &TableSpec, index: &IndexSpec, name: &Name) -> bool {
    let is_key = || spec.key.has(name) || index.key.has(name);
    match &index.projection {
        IndexProjection::All => true,
        IndexProjection::Keys => is_key(),
        IndexProjection::Include(names) => names.contains(name) || is_key(),
    }
}

/// Whether a read of the index must also read the table's items, because it returns attributes that
/// are not projected. Only local indexes are read like this: for a global one the request is
/// refused.
///
/// The full size of such an item counts. A filter sees only what the index projects.
pub(crate) fn reads_table(spec: &TableSpec, index: &IndexSpec, select: &Select) -> bool {
    let wanted = match select {
        Select::AllOfTable => index.projection != IndexProjection::All,
        Select::Parts(projection) => {
            projection.paths().iter().any(|path| !projects(spec, index, path.root()))
        }
        Select::All | Select::Count => false,
    };
    index.scope == IndexScope::Local && wanted
}
