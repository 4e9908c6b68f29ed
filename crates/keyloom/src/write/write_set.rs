//! The write set and the read set of one transaction: every entity that it changes, each once, and
//! those that it leaves unchanged.

use std::collections::HashMap;

use keyloom_model::{OwnRow, RowKey};

use super::{Numbers, Transition};

/// The write set and the read set of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Footprint<'a> {
    pub(crate) writes: WriteSet,
    /// The sequences from which it takes numbers.
    pub(crate) numbers: Numbers<'a>,
    /// Unchanged entities, which must still be unchanged at the commit.
    pub(crate) reads: Vec<OwnRow>,
}

/// Transitions by the key of the own row.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    transitions: Vec<Transition>,
    by_key: HashMap<RowKey, usize>,
}

impl WriteSet {
    pub(crate) fn get_mut(&mut self, key: &RowKey) -> Option<&mut Transition> {
        let index = *self.by_key.get(key)?;
        self.transitions.get_mut(index)
    }

    pub(crate) fn get(&self, key: &RowKey) -> Option<&Transition> {
        self.transitions.get(*self.by_key.get(key)?)
    }

    pub(crate) fn add(&mut self, key: RowKey, transition: Transition) {
        let index = self.transitions.len();
        let before = self.by_key.insert(key, index);
        debug_assert!(before.is_none(), "an entity is in a write set once");
        self.transitions.push(transition);
    }

    pub(crate) fn transitions(&self) -> &[Transition] {
        &self.transitions
    }

    pub(crate) fn deletions(&self) -> impl Iterator<Item = &Transition> {
        self.transitions.iter().filter(|transition| transition.after.is_none())
    }
}
