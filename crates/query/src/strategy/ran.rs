//! A record of the strategies that ran for a page. `explain` draws it without planning again.

use super::Chosen;

/// How a page was found: the strategy that was chosen, and those that took over from it.
#[derive(Clone, Debug, Default)]
pub struct Ran(Vec<Chosen>);

impl Ran {
    pub(crate) fn record(&mut self, chosen: Chosen) {
        self.0.push(chosen);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// In the order in which they ran.
    pub(crate) fn strategies(&self) -> &[Chosen] {
        &self.0
    }
}
