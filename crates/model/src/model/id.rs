//! Ids of entities and of what they declare. Each is a position in its list of declarations, so an
//! id is valid only in the model that returned it.

/// An entity of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub(crate) u16);

impl EntityId {
    /// Its position among the model's entities, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A field of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub(crate) u16);

impl FieldId {
    /// Its position among the entity's fields, from 0; `id` is at 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub(crate) fn from_index(index: usize) -> Option<FieldId> {
        u16::try_from(index).ok().map(FieldId)
    }
}

/// A unique of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniqueId(pub(crate) u16);

impl UniqueId {
    /// Its position among the entity's uniques, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A list of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(pub(crate) u16);

impl ListId {
    /// Its position among the entity's lists, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A count of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountId(pub(crate) u16);

impl CountId {
    /// Its position among the entity's counts, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A search of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SearchId(pub(crate) u16);

impl SearchId {
    /// Its position among the entity's searches, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A board of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoardId(pub(crate) u16);

impl BoardId {
    /// Its position among the entity's boards, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
