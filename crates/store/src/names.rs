//! The names of tables, indexes, shards and sets. Only valid names of tables, indexes and sets exist.

use std::fmt;
use std::sync::Arc;

use crate::Invalid;

/// The name of a table or of an index: 3 to 255 of `A-Z a-z 0-9 _ . -`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName(Arc<str>);

impl TableName {
    /// Validates a name.
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

/// The name of a shard of a feed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub String);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a set: 1 to 2,048 bytes, ordered byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetName(Vec<u8>);

impl SetName {
    /// Maximum length of a name.
    pub const BYTES_MAX: usize = 2048;

    /// Creates a name.
    ///
    /// # Errors
    ///
    /// If it is empty or too long.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<SetName, Invalid> {
        let bytes = bytes.into();
        if (1..=SetName::BYTES_MAX).contains(&bytes.len()) {
            Ok(SetName(bytes))
        } else {
            Err(Invalid::SetName { bytes: bytes.len() })
        }
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns its bytes without copying them.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
