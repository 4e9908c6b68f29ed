//! What an index holds: which items, and which of their attributes. Pure functions of an index's
//! spec and an item; where the rows are kept is a store's business.

use keyloom_value::{Item, Name};

use crate::{IndexProjection, IndexScope, IndexSpec, Select, TableSpec, validate};

/// Whether the index holds the item.
///
/// It does not if a key attribute is missing (the index is sparse), or cannot be a key: an index
/// added to a table in use passes over the items that were written before it could refuse them.
pub(crate) fn in_index(index: &IndexSpec, item: &Item) -> bool {
    validate::key_parts(&index.key).all(|(attribute, bytes_max)| {
        item.get(attribute.name.as_str())
            .is_some_and(|value| validate::key_value(attribute, bytes_max, value).is_ok())
    })
}

/// What the index keeps of an item.
pub(crate) fn projected(spec: &TableSpec, index: &IndexSpec, item: &Item) -> Item {
    let mut kept = Item::default();
    for (name, value) in item.iter() {
        if keeps(spec, index, name) {
            kept.insert(name.clone(), value.clone());
        }
    }
    kept
}

/// Whether the index keeps the attribute of this name.
pub(crate) fn keeps(spec: &TableSpec, index: &IndexSpec, name: &Name) -> bool {
    let is_key = || spec.key.has(name) || index.key.has(name);
    match &index.projection {
        IndexProjection::All => true,
        IndexProjection::Keys => is_key(),
        IndexProjection::Include(names) => names.contains(name) || is_key(),
    }
}

/// Whether a read of the index must look at the table's items too, because what it returns is not
/// all kept. Only a local index is read like this: for a global one the request is refused.
///
/// All bytes of such an item count. A filter sees no more of it than the index keeps.
pub(crate) fn reads_table(spec: &TableSpec, index: &IndexSpec, select: &Select) -> bool {
    let wanted = match select {
        Select::AllOfTable => index.projection != IndexProjection::All,
        Select::Parts(projection) => {
            projection.paths().iter().any(|path| !keeps(spec, index, path.root()))
        }
        Select::All | Select::Count => false,
    };
    index.scope == IndexScope::Local && wanted
}
