//! Document paths: the position of a value in an item.

mod clash;

use crate::{Item, Name, Value};

pub use clash::PathClash;
pub(crate) use clash::first_clash;

/// A position in an item: an attribute, then any number of steps into maps and lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    root: Name,
    steps: Vec<Step>,
}

/// One step below an attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into the member of a map.
    Member(Name),
    /// Into the element of a list.
    Element(usize),
}

impl Path {
    /// Creates the path of an attribute.
    pub fn new(root: Name) -> Path {
        Path { root, steps: Vec::new() }
    }

    /// Returns the path of a member of the map at this path.
    #[must_use]
    pub fn member(mut self, name: impl Into<Name>) -> Path {
        self.steps.push(Step::Member(name.into()));
        self
    }

    /// Returns the path of an element of the list at this path, counted from 0.
    #[must_use]
    pub fn element(mut self, index: usize) -> Path {
        self.steps.push(Step::Element(index));
        self
    }

    /// Returns the attribute it starts from.
    pub fn root(&self) -> &Name {
        &self.root
    }

    /// Returns the steps below the attribute.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the value at this path, if there is one.
    pub fn get<'a>(&self, item: &'a Item) -> Option<&'a Value> {
        let root = item.get(self.root.as_str())?;
        self.steps.iter().try_fold(root, |value, step| match (value, step) {
            (Value::M(members), Step::Member(name)) => members.get(name.as_str()),
            (Value::L(elements), Step::Element(index)) => elements.get(*index),
            _ => None,
        })
    }

    /// Returns whether the paths are equal or one is inside the other, so that writing both is
    /// ambiguous.
    pub fn overlaps(&self, other: &Path) -> bool {
        self.root == other.root
            && self.steps.iter().zip(&other.steps).all(|(left, right)| left == right)
    }

    /// Returns whether one path steps into a map where the other steps into a list, so that no item
    /// has a value at both.
    pub fn conflicts(&self, other: &Path) -> bool {
        let divergence = self.steps.iter().zip(&other.steps).find(|(left, right)| left != right);
        self.root == other.root
            && match divergence {
                Some((Step::Member(_), Step::Element(_)))
                | Some((Step::Element(_), Step::Member(_))) => true,
                Some((Step::Member(_), Step::Member(_)))
                | Some((Step::Element(_), Step::Element(_)))
                | None => false,
            }
    }
}

impl From<&str> for Path {
    /// The path of an attribute: the whole text is its name, dots and brackets included.
    fn from(root: &str) -> Path {
        Path::new(Name::from(root))
    }
}

impl From<Name> for Path {
    fn from(root: Name) -> Path {
        Path::new(root)
    }
}
