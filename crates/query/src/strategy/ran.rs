//! A record of the strategies that ran for a page. `explain` draws it without planning again.

use super::{Chosen, Estimate};

/// How a page was found: the strategy that was chosen, and those that took over from it.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    strategies: Vec<Chosen>,
    /// What the first was chosen by; none if it was chosen without sizes.
    estimate: Option<Estimate>,
}

impl Ran {
    /// Records the strategy that is chosen first.
    pub(crate) fn begin(&mut self, chosen: Chosen, estimate: Option<Estimate>) {
        *self = Ran { strategies: vec![chosen], estimate };
    }

    /// Records one that takes over.
    pub(crate) fn record(&mut self, chosen: Chosen) {
        self.strategies.push(chosen);
    }

    /// In the order in which they ran.
    pub(crate) fn strategies(&self) -> &[Chosen] {
        &self.strategies
    }

    pub(crate) fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }
}
