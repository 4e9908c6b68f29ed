//! Table definitions: key, indexes, settings.

use std::cmp::Ordering;
use std::sync::Arc;

use keyloom_value::{Item, KeyBytes, Name, Value, ValueType};

use crate::{ColumnSpec, Error, IndexName, Invalid, TableName, Time};

/// Initial capacity for an encoded key; few are longer.
const KEY_BYTES_CAPACITY: usize = 64;

/// The types a key attribute can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// Text, in the order of its UTF-8 bytes.
    S,
    /// Numbers, in numeric order.
    N,
    /// Bytes, in byte order.
    B,
}

impl KeyType {
    /// Whether a value has this type.
    pub fn admits(self, value: &Value) -> bool {
        self.value_type() == value.value_type()
    }

    /// Returns the corresponding value type.
    pub fn value_type(self) -> ValueType {
        match self {
            KeyType::S => ValueType::S,
            KeyType::N => ValueType::N,
            KeyType::B => ValueType::B,
        }
    }
}

/// One attribute of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttribute {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub key_type: KeyType,
}

/// The attributes that position a row: rows with equal partition attributes are adjacent, ordered
/// by the sort attributes. A table has one partition attribute and at most one sort attribute; a
/// global index has one to four and zero to four.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySchema {
    /// Attributes that a query tests for equality.
    pub partition: Vec<KeyAttribute>,
    /// Attributes that order the rows of a partition.
    pub sort: Vec<KeyAttribute>,
}

impl KeySchema {
    /// Creates a key of one partition attribute.
    pub fn partition(name: &str, key_type: KeyType) -> KeySchema {
        KeySchema { partition: vec![KeyAttribute { name: name.into(), key_type }], sort: vec![] }
    }

    /// Adds a partition attribute.
    pub fn and_partition(mut self, name: &str, key_type: KeyType) -> KeySchema {
        self.partition.push(KeyAttribute { name: name.into(), key_type });
        self
    }

    /// Adds a sort attribute.
    pub fn and_sort(mut self, name: &str, key_type: KeyType) -> KeySchema {
        self.sort.push(KeyAttribute { name: name.into(), key_type });
        self
    }

    /// Returns all attributes, partition first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether the attribute is part of the key.
    pub fn has(&self, name: &Name) -> bool {
        self.attributes().any(|attribute| attribute.name == *name)
    }

    /// Compares two items by this key. Attributes that cannot be compared count as equal.
    pub(crate) fn order(&self, left: &Item, right: &Item) -> Ordering {
        self.attributes()
            .map(|attribute| attribute.name.as_str())
            .filter_map(|name| left.get(name)?.compare(right.get(name)?))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Encodes the key of an item that has all its attributes.
    pub(crate) fn encode(&self, item: &Item) -> Result<KeyBytes, Invalid> {
        let mut key = KeyBytes::with_capacity(KEY_BYTES_CAPACITY);
        for attribute in self.attributes() {
            let missing = || Invalid::KeyMissing { attribute: attribute.name.clone() };
            let value = item.get(attribute.name.as_str()).ok_or_else(missing)?;
            key.push(value).map_err(|_| missing())?;
        }
        Ok(key)
    }

    /// Returns the key attributes of an item.
    pub fn of(&self, item: &Item) -> Item {
        let mut key = Item::default();
        for attribute in self.attributes() {
            if let Some(value) = item.get(attribute.name.as_str()) {
                key.insert(attribute.name.clone(), value.clone());
            }
        }
        key
    }
}

/// The scope of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexScope {
    /// Any key; can be added to and dropped from a table in use.
    Global,
    /// The table's partition key with another sort key; fixed when the table is created.
    Local,
}

/// Which attributes an index projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexProjection {
    /// All of the item.
    All,
    /// The table's key and the index's key.
    Keys,
    /// The keys and these attributes.
    Include(Vec<Name>),
}

/// The definition of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its name.
    pub name: IndexName,
    /// Global or local.
    pub scope: IndexScope,
    /// Its key. Items without all of its attributes are not in the index.
    pub key: KeySchema,
    /// The projected attributes.
    pub projection: IndexProjection,
}

/// Whether a table has a change feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Feed {
    /// No feed.
    #[default]
    Off,
    /// Every change with its old and new image.
    Images,
}

/// The definition of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Its name.
    pub name: TableName,
    /// Its primary key.
    pub key: KeySchema,
    /// Its indexes.
    pub indexes: Vec<IndexSpec>,
    /// Its columns; empty if the store has no sets.
    pub columns: Vec<ColumnSpec>,
    /// The number attribute that holds the time, in seconds since 1970, after which an item can be
    /// removed.
    pub ttl: Option<Name>,
    /// Its change feed.
    pub feed: Feed,
}

impl TableSpec {
    /// Creates a table definition with this key and nothing else.
    pub fn new(name: TableName, key: KeySchema) -> TableSpec {
        TableSpec { name, key, indexes: vec![], columns: vec![], ttl: None, feed: Feed::Off }
    }
}

/// Returns the spec of a table, or [`Error::TableNotFound`].
pub type Specs<'a> = &'a dyn Fn(&TableName) -> Result<Arc<TableSpec>, Error>;

/// A change to a table in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alteration {
    /// Adds a global index and builds it in the background.
    AddIndex(IndexSpec),
    /// Drops a global index.
    DropIndex(IndexName),
    /// Adds a column and builds it in the background.
    AddColumn(ColumnSpec),
    /// Drops a column.
    DropColumn(IndexName),
    /// Sets the time-to-live attribute, or disables time to live.
    SetTtl(Option<Name>),
    /// Enables or disables the change feed.
    SetFeed(Feed),
}

/// The current state of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDescription {
    /// Its definition, including all alterations.
    pub spec: TableSpec,
    /// When it was created.
    pub created: Time,
    /// Number of items.
    pub items: u64,
    /// Size of these items, as DynamoDB counts it.
    pub bytes: u64,
    /// The state of each index, in the order of `spec.indexes`.
    pub indexes: Vec<IndexDescription>,
}

/// The current state of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDescription {
    /// Its name.
    pub name: IndexName,
    /// Whether it can be read.
    pub state: IndexState,
    /// Number of items.
    pub items: u64,
    /// Size of these items.
    pub bytes: u64,
}

/// Whether an index can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It holds every item it should.
    Active,
    /// It is being built and cannot be queried yet.
    Building {
        /// Items of the table processed so far.
        done: u64,
        /// Items in the table now.
        total: u64,
    },
}
