//! What a backfill has to build. Everything else answers meanwhile: what no change of the model touched, and filters that
//! all models since the last backfill declare alike.

use std::collections::BTreeSet;

use keyloom_model::{Entity, Evolution, FieldId, List, Model, Search};

use super::Naive;

/// What cannot be read before the backfill is complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Building {
    /// New and changed lists, counts and boards: what it is, its entity as keys name it, and its name.
    queries: BTreeSet<(What, String, String)>,
    /// The models before the current one, since the last backfill.
    earlier: Vec<Model>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    List,
    Count,
    Board,
}

impl Building {
    /// Another model replaces this one.
    pub(super) fn add(&mut self, before: Model, (after, evolution): (&Model, &Evolution)) {
        self.earlier.push(before);
        let mut add = |what, entity: &Entity, name: &str| {
            self.queries.insert((what, entity.stored.clone(), name.to_owned()));
        };
        for (id, list) in evolution.pending_lists() {
            let entity = after.entity(id);
            add(What::List, entity, &entity.list(list).name);
        }
        for (id, count) in evolution.pending_counts() {
            let entity = after.entity(id);
            add(What::Count, entity, &entity.count(count).name);
        }
        for (id, board) in evolution.pending_boards() {
            let entity = after.entity(id);
            add(What::Board, entity, &entity.board(board).name);
        }
    }

    /// Whether a list, a count or a board can be read.
    pub(super) fn has_built(&self, what: What, entity: &Entity, name: &str) -> bool {
        !self.queries.contains(&(what, entity.stored.clone(), name.to_owned()))
    }

    pub(super) fn has_built_facet(&self, entity: &Entity, (list, facet): (&List, FieldId)) -> bool {
        self.is_in_all(entity, |earlier| {
            let before = earlier.find_list(&list.name).map(|id| earlier.list(id));
            before
                .is_some_and(|before| stored(earlier, &before.facets).contains(name(entity, facet)))
        })
    }

    pub(super) fn has_built_filter(&self, entity: &Entity, field: FieldId) -> bool {
        self.is_in_all(entity, |earlier| {
            stored(earlier, &earlier.filters).contains(name(entity, field))
        })
    }

    pub(super) fn has_built_search(&self, entity: &Entity, search: &Search) -> bool {
        self.is_in_all(entity, |earlier| {
            let mut others = earlier.searches.iter();
            // Random edits change nothing else about a search.
            others.any(|before| {
                before.name == search.name
                    && stored(earlier, &before.fields) == stored(entity, &search.fields)
            })
        })
    }

    pub(super) fn has_built_tags(&self, entity: &Entity) -> bool {
        let tags = |entity: &Entity| entity.tag_fields().collect::<Vec<_>>();
        self.is_in_all(entity, |earlier| {
            stored(earlier, &tags(earlier)) == stored(entity, &tags(entity))
        })
    }

    /// Whether something is declared for an entity by every model that has the entity.
    fn is_in_all(&self, entity: &Entity, is_in: impl Fn(&Entity) -> bool) -> bool {
        let before = |model: &Model| {
            let earlier = model.find_stored(&entity.stored).map(|id| model.entity(id));
            earlier.is_none_or(&is_in)
        };
        self.earlier.iter().all(before)
    }
}

impl Naive {
    /// A backfill is complete.
    pub(crate) fn backfilled(&mut self) {
        self.pending.clear();
        self.building = Building::default();
    }
}

fn name(entity: &Entity, field: FieldId) -> &str {
    &entity.field(field).stored
}

/// The names of fields in rows, which outlive renaming.
fn stored<'e>(entity: &'e Entity, fields: &[FieldId]) -> BTreeSet<&'e str> {
    fields.iter().map(|field| name(entity, *field)).collect()
}
