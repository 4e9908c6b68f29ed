//! An entity: its own row, and everything that it implies. One file for each check, in this order.

mod implied;
mod index_keys;
mod ordinal;
mod references;
mod sequence;
mod tombstones;

use keyloom_model::attribute::DELETION;
use keyloom_model::{EntityKey, OwnRow, RowKey};
use keyloom_value::Item;

use super::expected::Implying;
use super::findings::Findings;
use super::postings;
use super::seen::Seen;
use super::step::Step;
use super::{Problem, Remedy};
use crate::error::Error;

/// An entity of a page of rows, to be verified.
pub(super) struct EntityCheck<'a> {
    pub(super) step: &'a Step<'a>,
    /// Its own row.
    pub(super) row: &'a Item,
    pub(super) implying: &'a Implying,
    pub(super) seen: &'a Seen,
}

impl EntityCheck<'_> {
    pub(super) async fn run(&self, findings: &mut Findings<'_>) -> Result<(), Error> {
        let (step, own) = (self.step, self.own());
        index_keys::check(self, findings).await?;
        tombstones::check(self, findings).await?;
        implied::check(self, findings).await?;
        ordinal::check(self, findings).await?;
        sequence::check(self, findings).await?;
        postings::check_sets_of(step, own, findings).await?;
        postings::check_lists_of(step, own, self.seen, findings).await?;
        references::check(self, findings).await
    }

    fn own(&self) -> &OwnRow {
        &self.implying.own
    }

    fn key(&self) -> &EntityKey {
        &self.own().image.key
    }

    fn own_key(&self) -> RowKey {
        self.step.layout().own_key(self.key())
    }

    /// Whether its own row, read again, is what it was.
    fn is_same(&self, now: &Item) -> bool {
        self.step.layout().read_own(now).is_ok_and(|now| now == *self.own())
    }

    fn report(&self, findings: &mut Findings<'_>, problem: Problem, remedy: Remedy) {
        findings.of_entity(self.key(), problem, remedy);
    }
}

/// Returns the row without its tombstone, which its entity does not imply.
fn unmarked(row: &Item) -> Item {
    let mut row = row.clone();
    row.remove(DELETION);
    row
}
