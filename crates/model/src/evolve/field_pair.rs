//! One field in two models.

use crate::model::{Field, FieldId};

use super::change::{Change, ChangeKind};
use super::side::Pair;

/// A field that both models have.
#[derive(Debug)]
pub(super) struct FieldPair<'p, 'm> {
    pub(super) pair: &'p Pair<'m>,
    /// Of the new model.
    pub(super) id: FieldId,
    pub(super) old: &'m Field,
    pub(super) new: &'m Field,
}

impl FieldPair<'_, '_> {
    /// The field as messages name it.
    pub(super) fn qualified_name(&self) -> String {
        self.pair.qualified_name(&self.new.name)
    }

    /// A change that stored values are checked for.
    pub(super) fn tightened(&self, text: String) -> Change {
        self.pair.change(ChangeKind::FieldTightened(self.id), text)
    }

    pub(super) fn relaxed(&self, text: String) -> Change {
        self.pair.change(ChangeKind::FieldRelaxed(self.id), text)
    }
}
