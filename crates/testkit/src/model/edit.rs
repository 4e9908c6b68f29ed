//! Small edits of a model, each known to be allowed or refused for data that is there already.

mod declarations;
mod fields;

use keyloom_model::IdSource;

use super::draft::{Draft, DraftEntity};
use super::entity::ENTITY_NAMES;
use crate::Random;

/// How often a place for an edit is looked for.
const ATTEMPTS: usize = 12;

/// A changed model.
#[derive(Clone, Debug)]
pub struct Edit {
    /// What was done.
    pub kind: EditKind,
    /// The changed model, which is valid.
    pub draft: Draft,
}

/// Whether data of the one model can be kept under the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The models mean the same.
    Same,
    /// It can.
    Allowed,
    /// It cannot.
    Refused,
}

/// Lists the kinds once, with what is to be said about each.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $verdict:ident by $change:expr;)*) => {
        /// What can be done to a model.
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

            /// Changes the draft somewhere, if there is a place for it.
            fn change(self, draft: &mut Draft, random: &mut Random) -> Option<()> {
                match self {
                    $(EditKind::$kind => $change(draft, random),)*
                }
            }
        }
    };
}

kinds! {
    /// Everything in another order.
    Shuffle => Same by shuffle;
    /// A new entity.
    AddEntity => Allowed by add_entity;
    /// A new field that may be absent.
    AddOptionalField => Allowed by fields::add_optional;
    /// A new field with a default.
    AddDefaultedField => Allowed by fields::add_defaulted;
    /// Another default, a new one or none.
    ChangeDefault => Allowed by fields::change_default;
    /// A field may be absent now.
    MakeOptional => Allowed by fields::make_optional;
    /// A range takes more.
    WidenRange => Allowed by fields::widen_range;
    /// A new member at the end of an enum.
    AppendMember => Allowed by fields::append_member;
    /// A new member before the others.
    PrependMember => Allowed by fields::prepend_member;
    /// Another rule for deletion.
    ChangeOnDelete => Allowed by fields::change_on_delete;
    /// A new list.
    AddList => Allowed by declarations::add_list;
    /// A list less.
    RemoveList => Allowed by declarations::remove_list;
    /// Another order of a list.
    ChangeOrder => Allowed by declarations::change_order;
    /// A new unique.
    AddUnique => Allowed by declarations::add_unique;
    /// A unique less.
    RemoveUnique => Allowed by declarations::remove_unique;
    /// Expiry by another field, or by none, or for the first time.
    ChangeExpiry => Allowed by declarations::change_expiry;
    /// Served elsewhere.
    ChangePath => Allowed by declarations::change_path;
    /// Other read-only fields.
    ChangeReadOnly => Allowed by declarations::change_read_only;
    /// A text must have a format now.
    AddFormat => Allowed by declarations::add_format;
    /// A text with a format less.
    RemoveFormat => Allowed by declarations::remove_format;
    /// Other facets of a list.
    ChangeFacets => Allowed by declarations::change_facets;
    /// A new count.
    AddCount => Allowed by declarations::add_count;
    /// A new board.
    AddBoard => Allowed by declarations::add_board;
    /// A count or a board less, or one that says something else.
    ChangeNumbers => Allowed by declarations::change_numbers;
    /// A handler more or less.
    ChangeHandlers => Allowed by declarations::change_handlers;
    /// An entity less.
    RemoveEntity => Refused by remove_entity;
    /// A field less.
    RemoveField => Refused by fields::remove;
    /// A field by another name.
    RenameField => Refused by fields::rename;
    /// A new field that must be there.
    AddRequiredField => Refused by fields::add_required;
    /// A field of another type.
    ChangeType => Refused by fields::change_type;
    /// A reference to another entity.
    ChangeTarget => Refused by fields::change_target;
    /// A range takes less.
    NarrowRange => Refused by fields::narrow_range;
    /// An enum has a member less.
    RemoveMember => Refused by fields::remove_member;
    /// A field must be there now.
    MakeRequired => Refused by fields::make_required;
    /// Another tenant, a new one or none.
    ChangeTenant => Refused by change_tenant;
    /// Another parent, a new one or none.
    ChangeParent => Refused by change_parent;
    /// Others make the ids.
    ChangeIdSource => Refused by change_id_source;
}

impl EditKind {
    /// A valid model that differs from the draft by an edit of this kind; nothing if no place for
    /// one was found.
    pub fn apply(self, draft: &Draft, random: &mut Random) -> Option<Edit> {
        (0..ATTEMPTS).find_map(|_| {
            let mut changed = draft.clone();
            self.change(&mut changed, random)?;
            let is_edit = changed != *draft && changed.try_model().is_some();
            is_edit.then_some(Edit { kind: self, draft: changed })
        })
    }
}

/// An entity to be changed.
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
    // What it refers to may not be here.
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
