//! Small edits of a model, each known to be allowed or refused for existing data.

mod declarations;
mod fields;

use keyloom_model::IdSource;

use super::draft::{Draft, DraftEntity};
use super::entity::ENTITY_NAMES;
use crate::Random;

/// How often to look for something to edit.
const ATTEMPTS: usize = 12;

/// An edited model.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The kind of the edit.
    pub kind: EditKind,
    /// The edited model, which is valid.
    pub draft: Draft,
}

/// Whether data of the old model can be kept under the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The models are equivalent.
    Same,
    /// It can.
    Allowed,
    /// It cannot.
    Refused,
}

/// Lists the kinds once, with the verdict and the function of each.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $verdict:ident by $change:expr;)*) => {
        /// A kind of edit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EditKind {
            $($(#[$doc])* $kind,)*
        }

        impl EditKind {
            /// All of them.
            pub const ALL: &[EditKind] = &[$(EditKind::$kind),*];

            /// Whether it is allowed.
            pub fn verdict(self) -> Verdict {
                match self {
                    $(EditKind::$kind => Verdict::$verdict,)*
                }
            }

            /// Changes the draft somewhere, if possible.
            fn change(self, draft: &mut Draft, random: &mut Random) -> Option<()> {
                match self {
                    $(EditKind::$kind => $change(draft, random),)*
                }
            }
        }
    };
}

kinds! {
    /// Reorders everything.
    Shuffle => Same by shuffle;
    /// Adds an entity.
    AddEntity => Allowed by add_entity;
    /// Renames an entity.
    RenameEntity => Allowed by rename_entity;
    /// Adds an optional field.
    AddOptionalField => Allowed by fields::add_optional;
    /// Adds a field with a default.
    AddDefaultedField => Allowed by fields::add_defaulted;
    /// Changes, adds or removes a default.
    ChangeDefault => Allowed by fields::change_default;
    /// Makes a field optional.
    MakeOptional => Allowed by fields::make_optional;
    /// Widens a range.
    WidenRange => Allowed by fields::widen_range;
    /// Adds a member at the end of an enum.
    AppendMember => Allowed by fields::append_member;
    /// Adds a member at the start of an enum.
    PrependMember => Allowed by fields::prepend_member;
    /// Changes the rule for deletion.
    ChangeOnDelete => Allowed by fields::change_on_delete;
    /// Adds a list.
    AddList => Allowed by declarations::add_list;
    /// Removes a list.
    RemoveList => Allowed by declarations::remove_list;
    /// Changes the order of a list.
    ChangeOrder => Allowed by declarations::change_order;
    /// Adds a unique constraint.
    AddUnique => Allowed by declarations::add_unique;
    /// Removes a unique constraint.
    RemoveUnique => Allowed by declarations::remove_unique;
    /// Changes, adds or removes the field of expiry.
    ChangeExpiry => Allowed by declarations::change_expiry;
    /// Changes a path.
    ChangePath => Allowed by declarations::change_path;
    /// Changes the read-only fields.
    ChangeReadOnly => Allowed by declarations::change_read_only;
    /// Changes the fields that every list can be filtered by.
    ChangeFilters => Allowed by declarations::change_filters;
    /// Changes the texts whose words every list can be filtered by.
    ChangeSearch => Allowed by declarations::change_search;
    /// Adds a format.
    AddFormat => Allowed by declarations::add_format;
    /// Removes a format.
    RemoveFormat => Allowed by declarations::remove_format;
    /// Changes the facets of a list.
    ChangeFacets => Allowed by declarations::change_facets;
    /// Adds a count.
    AddCount => Allowed by declarations::add_count;
    /// Adds a board.
    AddBoard => Allowed by declarations::add_board;
    /// Removes or changes a count or a board.
    ChangeNumbers => Allowed by declarations::change_numbers;
    /// Adds or removes a handler.
    ChangeHandlers => Allowed by declarations::change_handlers;
    /// Changes the shards of an entity or of a list.
    ChangeShards => Allowed by declarations::change_shards;
    /// Removes a field.
    RemoveField => Allowed by fields::remove;
    /// Renames a field.
    RenameField => Allowed by fields::rename;
    /// Narrows a range.
    NarrowRange => Allowed by fields::narrow_range;
    /// Removes a member of an enum.
    RemoveMember => Allowed by fields::remove_member;
    /// Makes a field required.
    MakeRequired => Allowed by fields::make_required;
    /// Changes the type of a field to one that its values may be converted to.
    ConvertType => Allowed by fields::convert_type;
    /// Removes an entity.
    RemoveEntity => Refused by remove_entity;
    /// Renames an entity without saying so.
    ReplaceEntity => Refused by replace_entity;
    /// Removes a field without saying so.
    LoseField => Refused by fields::lose;
    /// Renames a field without saying so.
    ReplaceField => Refused by fields::replace;
    /// Adds a required field.
    AddRequiredField => Refused by fields::add_required;
    /// Changes the type of a field to one that its values cannot have.
    ChangeType => Refused by fields::change_type;
    /// Changes the target of a reference.
    ChangeTarget => Refused by fields::change_target;
    /// Changes, adds or removes the tenant.
    ChangeTenant => Refused by change_tenant;
    /// Changes, adds or removes the parent.
    ChangeParent => Refused by change_parent;
    /// Changes how ids are assigned.
    ChangeIdSource => Refused by change_id_source;
}

impl EditKind {
    /// Returns a valid model that differs from the draft by an edit of this kind; `None` if there
    /// was nothing to edit.
    pub fn apply(self, draft: &Draft, random: &mut Random) -> Option<Edit> {
        (0..ATTEMPTS).find_map(|_| {
            let mut changed = draft.clone();
            self.change(&mut changed, random)?;
            let is_edit = changed != *draft && changed.try_model().is_some();
            is_edit.then_some(Edit { kind: self, draft: changed })
        })
    }
}

/// Returns an entity to change.
fn some_entity<'d>(draft: &'d mut Draft, random: &mut Random) -> &'d mut DraftEntity {
    let index = random.index(draft.entities.len());
    &mut draft.entities[index]
}

fn shuffle(draft: &mut Draft, random: &mut Random) -> Option<()> {
    random.shuffle(&mut draft.entities);
    random.shuffle(&mut draft.handlers);
    for entity in &mut draft.entities {
        random.shuffle(&mut entity.fields);
        random.shuffle(&mut entity.read_only);
        random.shuffle(&mut entity.filters);
        random.shuffle(&mut entity.searched);
        random.shuffle(&mut entity.uniques);
        random.shuffle(&mut entity.formats);
        random.shuffle(&mut entity.lists);
        random.shuffle(&mut entity.counts);
        random.shuffle(&mut entity.boards);
        random.shuffle(&mut entity.combinations);
        for list in &mut entity.lists {
            random.shuffle(&mut list.filter);
            random.shuffle(&mut list.facets);
        }
    }
    Some(())
}

fn add_entity(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let name = random.pick(ENTITY_NAMES);
    let mut other = super::draft(random).entities.pop()?;
    // Its targets may not exist here.
    if let Some(parent) = other.parent.take() {
        other.drop_field(&parent.entity);
    }
    other.name = (*name).to_owned();
    other.boards.clear();
    other.path = None;
    draft.entities.push(other);
    Some(())
}

fn remove_entity(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let name = some_entity(draft, random).name.clone();
    *draft = draft.without_entity(&name);
    Some(())
}

fn rename_entity(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let old = some_entity(draft, random).name.clone();
    // Its length determines the shards of references to it.
    let is_free = |name: &&&str| {
        let is_taken = draft.entities.iter().any(|entity| entity.name == **name);
        !is_taken && name.len() % 2 == old.len() % 2
    };
    let free: Vec<&&str> = ENTITY_NAMES.iter().filter(is_free).collect();
    if free.is_empty() {
        return None;
    }
    let new = free[random.index(free.len())];
    draft.rename_entity(&old, new);
    Some(())
}

fn replace_entity(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let before = draft.renamed.clone();
    rename_entity(draft, random)?;
    draft.renamed = before;
    Some(())
}

fn change_tenant(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    let names: Vec<String> = entity.fields.iter().map(|field| field.name.clone()).collect();
    let others: Vec<String> = random.some_of(&names, 1);
    entity.tenant = others.into_iter().next();
    Some(())
}

fn change_parent(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let target = some_entity(draft, random).name.clone();
    let entity = some_entity(draft, random);
    let rule = entity.parent.as_ref().map(|parent| parent.on_delete);
    if let Some(parent) = entity.parent.take() {
        entity.drop_field(&parent.entity);
        if parent.entity == target {
            return Some(());
        }
    }
    let on_delete = rule.unwrap_or(keyloom_model::OnDelete::Refuse);
    entity.parent = Some(super::DraftParent { entity: target, on_delete });
    Some(())
}

fn change_id_source(draft: &mut Draft, random: &mut Random) -> Option<()> {
    let entity = some_entity(draft, random);
    entity.id_source = match entity.id_source {
        IdSource::Generated => IdSource::Given,
        IdSource::Given => IdSource::Generated,
    };
    Some(())
}
