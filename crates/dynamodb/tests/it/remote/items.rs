//! The items that these tests write.

use keyloom_store::{KeySchema, KeyType, TableName, TableSpec, UpdateItem};
use keyloom_value::{Item, Path, Update, Value};

pub(crate) fn table() -> TableName {
    TableName::new("things").unwrap()
}

pub(crate) fn spec() -> TableSpec {
    TableSpec::new(table(), KeySchema::partition("id", KeyType::S))
}

pub(crate) fn key(id: u64) -> Item {
    Item::from([("id", Value::from(format!("{id:03}")))])
}

pub(crate) fn item(id: u64, n: i64) -> Item {
    Item::from([("id", Value::from(format!("{id:03}"))), ("n", Value::from(n))])
}

/// Adds one, so that a repeated request is visible.
pub(crate) fn addition(id: u64) -> UpdateItem {
    UpdateItem::new(&table(), key(id), Update::new().add(Path::from("n"), Value::from(1)))
}
