//! Shorthands for test data.

use std::collections::BTreeSet;

use keyloom_store::{
    Feed, IndexName, IndexProjection, IndexScope, IndexSpec, KeySchema, KeyType, TableName,
    TableSpec,
};
use keyloom_value::{Item, Path, Value};

/// Creates an item: `item! { id: "a", count: 1 }`.
macro_rules! item {
    ($($name:ident : $value:expr),* $(,)?) => {
        keyloom_value::Item::from_iter([
            $((keyloom_value::Name::from(stringify!($name)), keyloom_value::Value::from($value))),*
        ])
    };
}
pub(crate) use item;

/// The name of a table or index.
pub(crate) fn name(text: &str) -> TableName {
    TableName::new(text).unwrap()
}

/// A number.
pub(crate) fn number(text: &str) -> Value {
    Value::N(text.parse().unwrap())
}

/// Bytes.
pub(crate) fn bytes(bytes: &[u8]) -> Value {
    Value::B(bytes.to_vec())
}

/// A set of texts.
pub(crate) fn texts(members: &[&str]) -> Value {
    Value::Ss(members.iter().map(|member| (*member).to_owned()).collect())
}

/// A set of numbers.
pub(crate) fn numbers(members: &[&str]) -> Value {
    Value::Ns(members.iter().map(|member| member.parse().unwrap()).collect())
}

/// A set of byte strings.
pub(crate) fn byte_strings(members: &[&[u8]]) -> Value {
    Value::Bs(members.iter().map(|member| member.to_vec()).collect::<BTreeSet<_>>())
}

/// A list.
pub(crate) fn list(elements: impl IntoIterator<Item = impl Into<Value>>) -> Value {
    Value::L(elements.into_iter().map(Into::into).collect())
}

/// The path of an attribute.
pub(crate) fn path(attribute: &str) -> Path {
    Path::from(attribute)
}

/// Text of this many bytes.
pub(crate) fn text_of(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// A table keyed by `pk` and `sk`, with a feed.
pub(crate) fn table_of(table: &str, partition: KeyType, sort: KeyType) -> TableSpec {
    let key = KeySchema::partition("pk", partition).and_sort("sk", sort);
    TableSpec { feed: Feed::Images, ..TableSpec::new(name(table), key) }
}

/// A table keyed by the texts `pk` and `sk`, with a feed.
pub(crate) fn text_table(table: &str) -> TableSpec {
    table_of(table, KeyType::S, KeyType::S)
}

/// A table keyed by the text `id` alone, with a feed.
pub(crate) fn id_table(table: &str) -> TableSpec {
    let key = KeySchema::partition("id", KeyType::S);
    TableSpec { feed: Feed::Images, ..TableSpec::new(name(table), key) }
}

/// A global index that projects all attributes.
pub(crate) fn global(index: &str, key: KeySchema) -> IndexSpec {
    IndexSpec {
        name: index_name(index),
        scope: IndexScope::Global,
        key,
        projection: IndexProjection::All,
    }
}

/// A local index that projects all attributes, of a table keyed by the text `pk`.
pub(crate) fn local(index: &str, sort: &str, key_type: KeyType) -> IndexSpec {
    let key = KeySchema::partition("pk", KeyType::S).and_sort(sort, key_type);
    IndexSpec { scope: IndexScope::Local, ..global(index, key) }
}

/// The name of an index.
pub(crate) fn index_name(text: &str) -> IndexName {
    name(text)
}

/// Returns the values of one attribute, item by item.
pub(crate) fn values<'a>(items: impl IntoIterator<Item = &'a Item>, attribute: &str) -> Vec<Value> {
    let value = |item: &Item| item.get(attribute).expect("the item has the attribute").clone();
    items.into_iter().map(value).collect()
}

/// Sorts items independently of the store's order.
pub(crate) fn sorted(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_by_cached_key(ToString::to_string);
    items
}
