//! Which children of a parent to read, and what a page of them is.

use keyloom_model::{EntityId, EntityKey, OwnRow};

use crate::ReadCost;

/// A request for children of a parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyRequest {
    /// The parent.
    pub parent: EntityKey,
    /// The kinds of children.
    pub children: Children,
    /// The maximum number of children: 1 to 1,000.
    pub limit: u32,
}

/// Which children of a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Children of all kinds.
    All,
    /// Children of one kind.
    Of(EntityId),
}

/// A parent with its first children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The parent.
    pub parent: OwnRow,
    /// Its children: by kind, then by id.
    pub children: Vec<OwnRow>,
    /// The cursor of more children, for [`Reader::children`](crate::Reader::children); absent if there are none for sure.
    pub next: Option<String>,
}

/// A page of a parent's children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildrenPage {
    /// By kind, then by id. There can be few, or none, on a page that is not the last.
    pub children: Vec<OwnRow>,
    /// The cursor of the next page; absent if nothing follows for sure.
    pub next: Option<String>,
    /// How much was read of the children, also of invisible ones.
    pub read: ReadCost,
}
