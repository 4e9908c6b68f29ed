//! Drafts for property tests: a failing one shrinks step by step, and stays valid.

use proptest::prelude::Rng;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::draft::Draft;
use super::entity::draft;
use crate::Random;

/// Random valid drafts.
pub fn drafts() -> impl Strategy<Value = Draft> + Clone {
    Drafts
}

#[derive(Clone, Debug)]
struct Drafts;

impl Strategy for Drafts {
    type Tree = DraftTree;
    type Value = Draft;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let current = draft(&mut Random::new(runner.rng().next_u64()));
        Ok(DraftTree { base: current.clone(), current, untried: None })
    }
}

/// A draft that failed, and the simpler ones to try.
#[derive(Clone, Debug)]
struct DraftTree {
    /// The simplest one known to fail.
    base: Draft,
    current: Draft,
    /// The untried drafts simpler than the base; `None` before the first try.
    untried: Option<std::vec::IntoIter<Draft>>,
}

impl DraftTree {
    fn try_next(&mut self) -> bool {
        match self.untried.as_mut().and_then(Iterator::next) {
            Some(next) => {
                self.current = next;
                true
            }
            None => {
                self.current = self.base.clone();
                false
            }
        }
    }
}

impl ValueTree for DraftTree {
    type Value = Draft;

    fn current(&self) -> Draft {
        self.current.clone()
    }

    /// Called when the current one fails, so it is the new base.
    fn simplify(&mut self) -> bool {
        if self.untried.is_none() || self.current != self.base {
            self.base = self.current.clone();
            self.untried = Some(self.base.simpler().collect::<Vec<_>>().into_iter());
        }
        self.try_next()
    }

    /// Called when the current one passes.
    fn complicate(&mut self) -> bool {
        self.current != self.base && self.try_next()
    }
}
