//! The current model and the earlier ones that rows were written under.

mod head;
mod layouts;
mod open;
mod permits;
mod plan;
mod precheck;
mod stored;
mod table;
pub(crate) mod zones;

use std::collections::BTreeSet;

use keyloom_model::{
    BoardId, CountId, Entity, EntityId, FieldType, Layout, ListId, Model, UniqueId,
};

pub(crate) use head::{Fingerprint, Head, copy_key};
pub(crate) use layouts::{Former, Layouts};
pub(crate) use open::{Opened, open_schema, open_stored, reopen_schema};
pub(crate) use permits::{complete_switch, create_permits, permit_key};
pub use plan::MigrationPlan;
pub(crate) use stored::{
    Position, Revision, Stored, remove_revision, write_copied, write_progress,
};
pub(crate) use table::{ensure_table, table_of};

/// The current model, with everything that reading and writing by it needs.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) layouts: Layouts,
    pub(crate) pending: Pending,
    /// The epoch of the model: what is decided by this schema is not applied after it.
    pub(crate) epoch: u32,
    /// The edit of the stored models that this is.
    pub(crate) edit: u32,
}

/// What is left to do after a change of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Entities whose rows must be rebuilt. Here and below, entities have the names that they have in keys.
    /// This does not change when one is renamed.
    pub(crate) entities: BTreeSet<String>,
    /// Entities and the names of their lists that cannot be read yet.
    pub(crate) lists: BTreeSet<(String, String)>,
    /// Entities and the names of their uniques that cannot be looked up yet.
    pub(crate) uniques: BTreeSet<(String, String)>,
    /// Entities and the names of their counts that cannot be read yet.
    pub(crate) counts: BTreeSet<(String, String)>,
    /// Entities and the names of their boards that cannot be read yet.
    pub(crate) boards: BTreeSet<(String, String)>,
}

impl Schema {
    pub(crate) fn model(&self) -> &Model {
        self.layouts.current.model()
    }

    /// Whether a list can be read.
    pub(crate) fn is_list_ready(&self, entity: EntityId, list: ListId) -> bool {
        if self.pending.lists.is_empty() {
            return true;
        }
        let entity = self.model().entity(entity);
        let name = (entity.stored.clone(), entity.list(list).name.clone());
        !self.pending.lists.contains(&name)
    }

    /// Whether a count can be read.
    pub(crate) fn is_count_ready(&self, entity: EntityId, count: CountId) -> bool {
        let entity = self.model().entity(entity);
        let name = (entity.stored.clone(), entity.count(count).name.clone());
        !self.pending.counts.contains(&name)
    }

    /// Whether a board can be read.
    pub(crate) fn is_board_ready(&self, entity: EntityId, board: BoardId) -> bool {
        let entity = self.model().entity(entity);
        let name = (entity.stored.clone(), entity.board(board).name.clone());
        !self.pending.boards.contains(&name)
    }

    /// Whether a unique can be looked up.
    pub(crate) fn is_unique_ready(&self, entity: EntityId, unique: UniqueId) -> bool {
        !self.pending.has_unique(&self.layouts.current, entity, unique)
    }
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Everything must be rebuilt that depends on how posting lists are stored: they themselves, index
    /// keys that contain ordinals, and what has shards on some stores.
    pub(crate) fn add_kept_otherwise(&mut self, layout: &Layout) {
        let refers = |entity: &Entity| {
            entity.fields.iter().any(|field| match field.of {
                FieldType::Ref(target, _) => layout.model().entity(target).reference_shards > 1,
                _ => false,
            })
        };
        let depends =
            |entity: &Entity| entity.has_ordinals() || entity.has_shards() || refers(entity);
        for (_, entity) in layout.model().entities().filter(|(_, entity)| depends(entity)) {
            self.entities.insert(entity.stored.clone());
            let named = |name: &String| (entity.stored.clone(), name.clone());
            self.lists.extend(entity.lists.iter().map(|list| named(&list.name)));
            let counts = entity.counts.iter().filter(|count| count.shards > 1);
            self.counts.extend(counts.map(|count| named(&count.name)));
            let boards = entity.boards.iter().filter(|board| board.shards > 1);
            self.boards.extend(boards.map(|board| named(&board.name)));
        }
    }

    pub(crate) fn has_unique(&self, layout: &Layout, entity: EntityId, unique: UniqueId) -> bool {
        if self.uniques.is_empty() {
            return false;
        }
        let name = layout.model().entity(entity).stored.clone();
        self.uniques.contains(&(name, layout.uniques().name(entity, unique).to_owned()))
    }
}
