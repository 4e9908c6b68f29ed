//! Rules for items and keys.

use keyloom_value::{Item, Name, Value};

use crate::limits::{
    ATTRIBUTE_NAME_BYTES_MAX, ITEM_BYTES_MAX, NESTING_MAX, PARTITION_KEY_BYTES_MAX,
    SORT_KEY_BYTES_MAX,
};
use crate::{Invalid, KeyAttribute, KeySchema, TableSpec};

/// Checks that these are exactly the key attributes of the table, with valid values.
pub(crate) fn key(spec: &TableSpec, key: &Item) -> Result<(), Invalid> {
    all_present(&spec.key, key)?;
    if let Some(extra) = key.names().find(|name| !spec.key.has(name)) {
        return Err(Invalid::KeyExtra { attribute: extra.clone() });
    }
    key_values(&spec.key, key)
}

/// Checks whether the item can be in the table.
pub(crate) fn item(spec: &TableSpec, item: &Item) -> Result<(), Invalid> {
    item.iter().try_for_each(|(name, value)| part(name, value))?;
    let bytes = item.size();
    if bytes > ITEM_BYTES_MAX {
        return Err(Invalid::ItemTooLarge { bytes, limit: ITEM_BYTES_MAX });
    }
    all_present(&spec.key, item)?;
    key_values(&spec.key, item)?;
    spec.indexes.iter().try_for_each(|index| key_values(&index.key, item))
}

/// Checks whether the value can be an attribute of an item, or part of one. Nesting is checked
/// first, because the rest recurses.
pub(super) fn part(attribute: &Name, value: &Value) -> Result<(), Invalid> {
    if value.depth() > NESTING_MAX {
        return Err(Invalid::TooDeep { limit: NESTING_MAX });
    }
    content(attribute, attribute, value)
}

/// Rejects empty names and empty sets at any depth. `attribute` is the top-level one, which errors
/// name.
fn content(attribute: &Name, name: &Name, value: &Value) -> Result<(), Invalid> {
    if !(1..=ATTRIBUTE_NAME_BYTES_MAX).contains(&name.as_str().len()) {
        return Err(Invalid::AttributeName { name: name.as_str().to_owned() });
    }
    let empty_set = match value {
        Value::Ss(set) => set.is_empty(),
        Value::Ns(set) => set.is_empty(),
        Value::Bs(set) => set.is_empty(),
        Value::L(list) => {
            return list.iter().try_for_each(|element| content(attribute, name, element));
        }
        Value::M(map) => {
            return map.iter().try_for_each(|(name, member)| content(attribute, name, member));
        }
        Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) | Value::Null => false,
    };
    if empty_set {
        return Err(Invalid::EmptySet { attribute: attribute.clone() });
    }
    Ok(())
}

/// Returns the attributes of a key, each with its maximum size.
pub(crate) fn key_parts(schema: &KeySchema) -> impl Iterator<Item = (&KeyAttribute, usize)> {
    let partition = schema.partition.iter().map(|part| (part, PARTITION_KEY_BYTES_MAX));
    partition.chain(schema.sort.iter().map(|part| (part, SORT_KEY_BYTES_MAX)))
}

/// Checks whether a key attribute can have this value.
pub(crate) fn key_value(
    attribute: &KeyAttribute,
    bytes_max: usize,
    value: &Value,
) -> Result<(), Invalid> {
    if !attribute.key_type.admits(value) {
        return Err(Invalid::KeyType {
            attribute: attribute.name.clone(),
            expected: attribute.key_type.value_type(),
            found: value.value_type(),
        });
    }
    let bytes = match value {
        Value::S(text) => text.len(),
        Value::B(bytes) => bytes.len(),
        // Any number fits, and the other types cannot be keys.
        _ => return Ok(()),
    };
    let name = || attribute.name.clone();
    match bytes {
        0 => Err(Invalid::KeyEmpty { attribute: name() }),
        _ if bytes > bytes_max => {
            Err(Invalid::KeyTooLong { attribute: name(), bytes, limit: bytes_max })
        }
        _ => Ok(()),
    }
}

fn all_present(schema: &KeySchema, item: &Item) -> Result<(), Invalid> {
    match schema.attributes().find(|attribute| !item.contains(attribute.name.as_str())) {
        Some(missing) => Err(Invalid::KeyMissing { attribute: missing.name.clone() }),
        None => Ok(()),
    }
}

/// Checks that the key attributes that are present have valid values.
fn key_values(schema: &KeySchema, item: &Item) -> Result<(), Invalid> {
    for (attribute, bytes_max) in key_parts(schema) {
        if let Some(value) = item.get(attribute.name.as_str()) {
            key_value(attribute, bytes_max, value)?;
        }
    }
    Ok(())
}
