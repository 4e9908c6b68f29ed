//! What a comparison of two models has found so far.

use super::change::Change;
use super::refusal::Refusal;

#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) changes: Vec<Change>,
    pub(super) refusals: Vec<Refusal>,
}
