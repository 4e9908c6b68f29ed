//! Items: maps from attribute names to values.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::Value;

/// The name of an attribute. Cloning is cheap, because a page of items repeats the same names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// Attributes by name, in the byte order of their names. Also the content of a map value.
///
/// A sorted vector: items have few attributes, and decoding one must not cost an allocation per
/// tree node. Looking a name up is O(log n); inserting and removing are O(n).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    attributes: Vec<(Name, Value)>,
}

/// Up to this many attributes are searched linearly: comparing lengths rules out most names without
/// reading them, and branches are predicted. At 12 attributes a binary search takes ten times as
/// long.
const LINEAR_SEARCH_MAX: usize = 32;

impl Name {
    /// Returns the name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Name {
        Name(Arc::from(name))
    }
}

impl From<String> for Name {
    fn from(name: String) -> Name {
        Name(Arc::from(name))
    }
}

impl From<&String> for Name {
    fn from(name: &String) -> Name {
        Name::from(name.as_str())
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Name {
        name.clone()
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Name {
    /// Writes the name verbatim. In items and paths, names that are not plain words are quoted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Item {
    /// Creates an empty item.
    pub fn new() -> Item {
        Item::default()
    }

    /// Creates an empty item with room for `capacity` attributes.
    pub fn with_capacity(capacity: usize) -> Item {
        Item { attributes: Vec::with_capacity(capacity) }
    }

    /// Creates an item from attributes in strictly ascending order of names; `None` if they are not.
    /// For decoders: neither sorts nor copies.
    pub fn from_sorted(attributes: Vec<(Name, Value)>) -> Option<Item> {
        attributes.is_sorted_by(|(left, _), (right, _)| left < right).then_some(Item { attributes })
    }

    /// Returns the value of an attribute.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.attributes.get(self.position(name)?).map(|(_, value)| value)
    }

    /// Returns a mutable reference to the value of an attribute.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let position = self.position(name)?;
        self.attributes.get_mut(position).map(|(_, value)| value)
    }

    /// Sets an attribute and returns the old value.
    pub fn insert(&mut self, name: impl Into<Name>, value: impl Into<Value>) -> Option<Value> {
        self.insert_attribute(name.into(), value.into())
    }

    /// Removes an attribute and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let position = self.position(name)?;
        Some(self.attributes.remove(position).1)
    }

    /// Returns whether the item has the attribute.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Iterates over the attributes in order of names.
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&Name, &Value)> + ExactSizeIterator + Clone {
        self.attributes.iter().map(|(name, value)| (name, value))
    }

    /// Iterates over the names, sorted.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &Name> + ExactSizeIterator + Clone {
        self.attributes.iter().map(|(name, _)| name)
    }

    /// Returns the number of attributes.
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// Returns whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    fn insert_attribute(&mut self, name: Name, value: Value) -> Option<Value> {
        match self.search(name.as_str()) {
            Ok(position) => {
                let attribute = self.attributes.get_mut(position)?;
                Some(std::mem::replace(&mut attribute.1, value))
            }
            Err(position) => {
                self.attributes.insert(position, (name, value));
                None
            }
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        if self.attributes.len() <= LINEAR_SEARCH_MAX {
            return self.attributes.iter().position(|(other, _)| other.as_str() == name);
        }
        self.search(name).ok()
    }

    /// Returns the position of the name, or where to insert it.
    fn search(&self, name: &str) -> Result<usize, usize> {
        self.attributes.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }
}

impl FromIterator<(Name, Value)> for Item {
    /// Collects attributes in any order; the last of several with the same name wins. O(n log n),
    /// and O(n) if they are sorted.
    fn from_iter<I: IntoIterator<Item = (Name, Value)>>(attributes: I) -> Item {
        let mut attributes: Vec<_> = attributes.into_iter().collect();
        attributes.sort_by(|(left, _), (right, _)| left.cmp(right));
        attributes.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        Item { attributes }
    }
}

impl<K: Into<Name>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Item {
    fn from(attributes: [(K, V); N]) -> Item {
        attributes.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}

impl IntoIterator for Item {
    type Item = (Name, Value);
    type IntoIter = std::vec::IntoIter<(Name, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.attributes.into_iter()
    }
}

impl<'a> IntoIterator for &'a Item {
    type Item = (&'a Name, &'a Value);
    type IntoIter =
        std::iter::Map<std::slice::Iter<'a, (Name, Value)>, fn(&'a (Name, Value)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.attributes.iter().map(|(name, value)| (name, value))
    }
}
