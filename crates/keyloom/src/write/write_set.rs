//! Everyone who takes part in one transaction, each once.

use std::collections::HashMap;

use keyloom_model::RowKey;

use super::Transition;

/// Transitions, found by the key of the own row.
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
        debug_assert!(before.is_none(), "everyone takes part once");
        self.transitions.push(transition);
    }

    pub(crate) fn transitions(&self) -> &[Transition] {
        &self.transitions
    }
}
