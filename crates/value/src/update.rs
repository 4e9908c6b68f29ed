//! Updates of an item, as data, and their application.

mod apply;
mod check;
mod error;
mod write;

use crate::{Path, Value};

pub use error::{UpdateError, UpdateOperator};

/// Changes to an item. All of them read the old item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Paths to write, with what to write there.
    pub set: Vec<(Path, SetValue)>,
    /// Paths to remove.
    pub remove: Vec<Path>,
    /// Numbers to add to, sets to insert members into.
    pub add: Vec<(Path, Value)>,
    /// Sets to remove members from.
    pub delete: Vec<(Path, Value)>,
}

/// What a `SET` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// A constant.
    Value(Value),
    /// The value at another path.
    Path(Path),
    /// The value at the path, or a default if there is none.
    IfMissing(Path, Box<SetValue>),
    /// The concatenation of two lists.
    Append(Box<SetValue>, Box<SetValue>),
    /// The sum of two numbers.
    Plus(Box<SetValue>, Box<SetValue>),
    /// The difference of two numbers.
    Minus(Box<SetValue>, Box<SetValue>),
}

impl Update {
    /// Creates an update that changes nothing.
    pub fn new() -> Update {
        Update::default()
    }

    /// Also writes a value at the path. An element beyond the end of its list is appended.
    #[must_use]
    pub fn set(mut self, path: Path, value: impl Into<SetValue>) -> Update {
        self.set.push((path, value.into()));
        self
    }

    /// Also removes the value at the path. Elements after a removed one move up.
    #[must_use]
    pub fn remove(mut self, path: Path) -> Update {
        self.remove.push(path);
        self
    }

    /// Also adds a number to a number, or members to a set. A missing value counts as zero or as
    /// the empty set.
    #[must_use]
    pub fn add(mut self, path: Path, value: Value) -> Update {
        self.add.push((path, value));
        self
    }

    /// Also removes members from a set. A set that becomes empty is removed.
    #[must_use]
    pub fn delete(mut self, path: Path, value: Value) -> Update {
        self.delete.push((path, value));
        self
    }

    /// Returns all paths that are written or removed.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let set = self.set.iter().map(|(path, _)| path);
        let add = self.add.iter().map(|(path, _)| path);
        let delete = self.delete.iter().map(|(path, _)| path);
        set.chain(&self.remove).chain(add).chain(delete)
    }

    /// Whether it only takes away. Applied to an item that does not exist, such an update does not
    /// create one. An update without any change does.
    pub fn only_removes(&self) -> bool {
        let removes = !self.remove.is_empty() || !self.delete.is_empty();
        removes && self.set.is_empty() && self.add.is_empty()
    }

    /// Returns the number of sums, differences, appended lists and defaults. Safe at any depth, unlike
    /// the other functions, which are recursive: check a limit with this first.
    pub fn operators(&self) -> usize {
        let mut waiting: Vec<&SetValue> = self.set.iter().map(|(_, value)| value).collect();
        let mut operators = 0;
        while let Some(value) = waiting.pop() {
            match value {
                SetValue::Value(_) | SetValue::Path(_) => continue,
                SetValue::IfMissing(_, default) => waiting.push(default),
                SetValue::Append(left, right)
                | SetValue::Plus(left, right)
                | SetValue::Minus(left, right) => waiting.extend([&**left, &**right]),
            }
            operators += 1;
        }
        operators
    }
}

impl SetValue {
    /// The value at the path, or a default if there is none.
    pub fn if_missing(path: impl Into<Path>, value: impl Into<SetValue>) -> SetValue {
        SetValue::IfMissing(path.into(), Box::new(value.into()))
    }

    /// The concatenation of two lists.
    pub fn append(left: impl Into<SetValue>, right: impl Into<SetValue>) -> SetValue {
        SetValue::Append(Box::new(left.into()), Box::new(right.into()))
    }

    /// The sum of two numbers.
    pub fn plus(left: impl Into<SetValue>, right: impl Into<SetValue>) -> SetValue {
        SetValue::Plus(Box::new(left.into()), Box::new(right.into()))
    }

    /// The difference of two numbers.
    pub fn minus(left: impl Into<SetValue>, right: impl Into<SetValue>) -> SetValue {
        SetValue::Minus(Box::new(left.into()), Box::new(right.into()))
    }
}

impl From<Value> for SetValue {
    fn from(value: Value) -> SetValue {
        SetValue::Value(value)
    }
}

impl From<Path> for SetValue {
    fn from(path: Path) -> SetValue {
        SetValue::Path(path)
    }
}
