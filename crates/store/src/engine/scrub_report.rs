//! The findings of a scrub.

use std::ops::ControlFlow;

use crate::Damage;

/// How many findings are kept: enough to see how bad it is.
const FINDINGS_MAX: usize = 1000;

/// The progress of a scrub, or its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scrubbed {
    /// Tree blocks verified.
    pub blocks: u64,
    /// Tree blocks in total.
    pub blocks_total: u64,
    /// Log frames verified.
    pub frames: u64,
    /// Rows compared.
    pub rows: u64,
    /// Damaged blocks of the tree, including its header.
    pub tree_damages: u64,
    /// Positions and rows that differ from what was written.
    pub findings: u64,
    /// The first 1,000 findings. Differing rows have offset 0 in the tree.
    pub damages: Vec<Damage>,
}

/// Receives the progress of a scrub every few blocks, frames or rows, and decides whether it
/// continues.
pub(crate) type OnScrub<'a> = &'a mut dyn FnMut(&Scrubbed) -> ControlFlow<()>;

impl Scrubbed {
    pub(crate) fn add(&mut self, damage: Damage) {
        self.findings += 1;
        if self.damages.len() < FINDINGS_MAX {
            self.damages.push(damage);
        }
    }
}
