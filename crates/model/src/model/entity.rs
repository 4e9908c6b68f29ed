//! Entities and what is unique among them.

use super::{
    Board, BoardId, CaseMode, Count, CountId, Field, FieldId, FieldType, FormatRule, List, ListId,
    TagCombination,
};

/// An entity of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub(crate) u16);

impl EntityId {
    /// Its place among the model's entities, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// One kind of thing that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entity {
    /// Its name in the model.
    pub name: String,
    /// Where it is served.
    pub path: String,
    /// Who makes ids.
    pub id_source: IdSource,
    /// The field that holds the parent's id, if it is a child. It is a reference.
    pub parent: Option<FieldId>,
    /// Whose data it is.
    pub tenancy: Tenancy,
    /// The time at which it expires.
    pub expires: Option<FieldId>,
    /// First `id`, then the parent if there is one, then the declared ones in their order.
    pub fields: Vec<Field>,
    /// What their texts look like.
    pub formats: Vec<FormatRule>,
    /// What no two of them have in common.
    pub uniques: Vec<Unique>,
    /// The ordered lists they are in.
    pub lists: Vec<List>,
    /// The counts kept of them.
    pub counts: Vec<Count>,
    /// The boards they are ranked on.
    pub boards: Vec<Board>,
    /// The tag keys that are looked up together.
    pub combinations: Vec<TagCombination>,
}

impl Entity {
    /// The field with an id that this entity's model gave out for it.
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.index()]
    }

    /// The field of this name.
    pub fn find_field(&self, name: &str) -> Option<FieldId> {
        let index = self.fields.iter().position(|field| field.name == name)?;
        FieldId::from_index(index)
    }

    /// Whether it belongs to tenants.
    pub fn has_tenant(&self) -> bool {
        match self.tenancy {
            Tenancy::Shared => false,
            Tenancy::Own(_) | Tenancy::Inherited(_) => true,
        }
    }

    /// All fields with their ids.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &Field)> {
        self.fields.iter().zip(0..).map(|(field, index)| (FieldId(index), field))
    }

    /// The fields that are lists of references, and what they refer to.
    pub fn reference_lists(&self) -> impl Iterator<Item = (FieldId, EntityId)> {
        self.fields().filter_map(|(id, field)| match &field.of {
            FieldType::List(of, _) => match **of {
                FieldType::Ref(target, _) => Some((id, target)),
                _ => None,
            },
            _ => None,
        })
    }

    /// All lists with their ids.
    pub fn lists(&self) -> impl Iterator<Item = (ListId, &List)> {
        self.lists.iter().zip(0..).map(|(list, index)| (ListId(index), list))
    }

    /// The list with an id that this entity's model gave out for it.
    pub fn list(&self, id: ListId) -> &List {
        &self.lists[id.index()]
    }

    /// The list of this name.
    pub fn find_list(&self, name: &str) -> Option<ListId> {
        let index = self.lists.iter().position(|list| list.name == name)?;
        u16::try_from(index).ok().map(ListId)
    }

    /// All counts with their ids.
    pub fn counts(&self) -> impl Iterator<Item = (CountId, &Count)> {
        self.counts.iter().zip(0..).map(|(count, index)| (CountId(index), count))
    }

    /// The count with an id that this entity's model gave out for it.
    pub fn count(&self, id: CountId) -> &Count {
        &self.counts[id.index()]
    }

    /// The count of this name.
    pub fn find_count(&self, name: &str) -> Option<CountId> {
        self.counts().find(|(_, count)| count.name == name).map(|(id, _)| id)
    }

    /// All boards with their ids.
    pub fn boards(&self) -> impl Iterator<Item = (BoardId, &Board)> {
        self.boards.iter().zip(0..).map(|(board, index)| (BoardId(index), board))
    }

    /// The board with an id that this entity's model gave out for it.
    pub fn board(&self, id: BoardId) -> &Board {
        &self.boards[id.index()]
    }

    /// The unique with an id that this entity's model gave out for it.
    pub fn unique(&self, id: UniqueId) -> &Unique {
        &self.uniques[id.index()]
    }

    /// All uniques with their ids.
    pub fn uniques(&self) -> impl Iterator<Item = (UniqueId, &Unique)> {
        self.uniques.iter().zip(0..).map(|(unique, index)| (UniqueId(index), unique))
    }
}

/// Who makes the ids of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// Keyloom does; their order is the order of creation.
    Generated,
    /// The caller does.
    Given,
}

/// Whose data an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// There are no tenants.
    Shared,
    /// A field of its own says so.
    Own(FieldId),
    /// That of its parent, or of the parent's parent: the entity that has the field.
    Inherited(EntityId),
}

/// A unique of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniqueId(pub(crate) u16);

impl UniqueId {
    /// Its place among the entity's uniques, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Values that no two entities of a kind (and of a tenant) have in common. An entity in which one
/// of the fields is absent takes no part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unique {
    /// The fields that together are unique.
    pub fields: Vec<FieldId>,
    /// Unique only among those that have this in common.
    pub within: Option<FieldId>,
    /// Whether `A` and `a` are the same, in texts.
    pub case: CaseMode,
}
