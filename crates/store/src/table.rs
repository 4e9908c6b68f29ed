//! What a table is: its key, its indexes, its settings.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use keyloom_value::{Item, KeyBytes, Name, Value, ValueType};

use crate::{ColumnSpec, Invalid, Time};

/// Room for an encoded key; few are longer.
const KEY_BYTES_USUAL: usize = 64;

/// The name of a table or of an index: 3 to 255 of `A-Z a-z 0-9 _ . -`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName(Arc<str>);

impl TableName {
    /// Checks the text and makes it a name.
    pub fn new(text: &str) -> Result<TableName, Invalid> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if (3..=255).contains(&text.len()) && text.chars().all(allowed) {
            Ok(TableName(text.into()))
        } else {
            Err(Invalid::Name { name: text.to_owned() })
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// The name of an index, under the rules of table names.
pub type IndexName = TableName;

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
    /// Whether a value is of this type.
    pub fn admits(self, value: &Value) -> bool {
        self.value_type() == value.value_type()
    }

    /// The same as a value's type.
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

/// The attributes that place a row: equal partition parts keep rows together, sort parts order
/// them inside. A table has one partition attribute and at most one sort attribute; a global index has
/// one to four and none to four.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySchema {
    /// Attributes that a query gives by equality.
    pub partition: Vec<KeyAttribute>,
    /// Attributes that order the rows of a partition.
    pub sort: Vec<KeyAttribute>,
}

impl KeySchema {
    /// A key of one partition attribute.
    pub fn partition(name: &str, key_type: KeyType) -> KeySchema {
        KeySchema { partition: vec![KeyAttribute { name: name.into(), key_type }], sort: vec![] }
    }

    /// The same key with one more partition attribute.
    pub fn and_partition(mut self, name: &str, key_type: KeyType) -> KeySchema {
        self.partition.push(KeyAttribute { name: name.into(), key_type });
        self
    }

    /// The same key with one more sort attribute.
    pub fn and_sort(mut self, name: &str, key_type: KeyType) -> KeySchema {
        self.sort.push(KeyAttribute { name: name.into(), key_type });
        self
    }

    /// All attributes, partition first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether the attribute is part of the key.
    pub fn has(&self, name: &Name) -> bool {
        self.attributes().any(|attribute| attribute.name == *name)
    }

    /// The order of two items by this key. Attributes that cannot be compared count as equal.
    pub(crate) fn order(&self, left: &Item, right: &Item) -> Ordering {
        self.attributes()
            .map(|attribute| attribute.name.as_str())
            .filter_map(|name| left.get(name)?.compare(right.get(name)?))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// The encoded key of an item that has one.
    pub(crate) fn encode(&self, item: &Item) -> Result<KeyBytes, Invalid> {
        let mut key = KeyBytes::with_capacity(KEY_BYTES_USUAL);
        for attribute in self.attributes() {
            let missing = || Invalid::KeyMissing { attribute: attribute.name.clone() };
            let value = item.get(attribute.name.as_str()).ok_or_else(missing)?;
            key.push(value).map_err(|_| missing())?;
        }
        Ok(key)
    }

    /// The key attributes of an item.
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

/// Where an index's rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexScope {
    /// Any key; can be added to and dropped from a table in use.
    Global,
    /// The table's partition key with another sort key; fixed when the table is made.
    Local,
}

/// Which attributes an index keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexProjection {
    /// All of the item.
    All,
    /// The table's key and the index's key.
    Keys,
    /// The keys and these.
    Include(Vec<Name>),
}

/// An index to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its name.
    pub name: IndexName,
    /// Global or local.
    pub scope: IndexScope,
    /// Its key. Items that lack any of its attributes are not in the index.
    pub key: KeySchema,
    /// What it keeps of an item.
    pub projection: IndexProjection,
}

/// Whether changes of a table can be read back as a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Feed {
    /// No feed.
    #[default]
    Off,
    /// Every change with its old and new image.
    Images,
}

/// A table to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Its name.
    pub name: TableName,
    /// Its primary key.
    pub key: KeySchema,
    /// Its indexes.
    pub indexes: Vec<IndexSpec>,
    /// Its columns: none where the store has no sets.
    pub columns: Vec<ColumnSpec>,
    /// The number attribute that holds the second (since 1970) after which an item may be removed.
    pub ttl: Option<Name>,
    /// Its change feed.
    pub feed: Feed,
}

impl TableSpec {
    /// A table with this key and nothing else.
    pub fn new(name: TableName, key: KeySchema) -> TableSpec {
        TableSpec { name, key, indexes: vec![], columns: vec![], ttl: None, feed: Feed::Off }
    }
}

/// One change to a table in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alteration {
    /// Adds a global index and fills it in the background.
    AddIndex(IndexSpec),
    /// Drops a global index.
    DropIndex(IndexName),
    /// Adds a column and fills it in the background.
    AddColumn(ColumnSpec),
    /// Drops a column.
    DropColumn(IndexName),
    /// Names the time-to-live attribute, or turns time to live off.
    SetTtl(Option<Name>),
    /// Turns the change feed on or off.
    SetFeed(Feed),
}

/// A table as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDescription {
    /// What it was made as, with every alteration since.
    pub spec: TableSpec,
    /// When it was made.
    pub created: Time,
    /// Items in it.
    pub items: u64,
    /// Bytes of those items, as DynamoDB counts them.
    pub bytes: u64,
    /// The state of each index, in the order of `spec.indexes`.
    pub indexes: Vec<IndexDescription>,
}

/// An index as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDescription {
    /// Its name.
    pub name: IndexName,
    /// Whether it can be read.
    pub state: IndexState,
    /// Items in it.
    pub items: u64,
    /// Bytes of those items.
    pub bytes: u64,
}

/// Whether an index can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It holds every item it should.
    Active,
    /// It is being filled and answers no queries yet.
    Building {
        /// Items of the table looked at so far.
        done: u64,
        /// Items the table has now.
        total: u64,
    },
}
