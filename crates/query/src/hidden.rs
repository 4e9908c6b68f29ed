//! Entities that a large deletion has taken and not yet removed from posting lists. Reads that count
//! leave them out; `pending.rs` finds them.

use keyloom_model::Entity;
use keyloom_store::Members;

use crate::posting_list::PostingList;

/// Members of posting lists that do not count.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    /// Those of any list.
    pub(crate) all: Members,
    /// Those of lists that depend on a field.
    pub(crate) by_field: Vec<(String, Members)>,
}

impl Hidden {
    /// Ordinals that count in no posting list.
    #[cfg(test)]
    pub(crate) fn in_all(all: Members) -> Hidden {
        Hidden { all, by_field: vec![] }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.by_field.is_empty()
    }

    /// Removes ordinals that do not count as members of a posting list.
    pub(crate) fn leave_out(&self, entity: &Entity, list: &PostingList, members: &mut Members) {
        members.and_not(&self.all);
        for (field, hidden) in &self.by_field {
            if list.depends_on(entity, field) {
                members.and_not(hidden);
            }
        }
    }
}
