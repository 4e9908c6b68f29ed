//! Requests to a database, and the reasons why one can fail.

use keyloom::{Change, Error};
use keyloom_value::Item;

use super::Document;

/// A change of one entity.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) kind: String,
    /// `None` for a new entity: its id is generated, or in the document.
    pub(crate) id: Option<String>,
    pub(crate) action: Action,
    pub(crate) expected: Option<String>,
}

/// The change.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Create(Item),
    Update(Item),
    Put(Item),
    Delete,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Fields,
    NotFound,
    Exists,
    Taken,
    VersionMismatch,
    InUse,
    TargetGone,
    SameTwice,
    Tenant,
    Id,
    TooLarge,
    /// The entity was renamed since the request was drawn.
    Unknown,
    /// An error that no change should return.
    Other(String),
}

impl Request {
    pub(crate) fn change(&self) -> Change {
        let id = self.id.as_deref().unwrap_or_default();
        let change = match &self.action {
            Action::Create(document) => Change::create(&self.kind, &Document(document)),
            Action::Update(patch) => Change::update(&self.kind, id, &Document(patch)),
            Action::Put(document) => Change::put(&self.kind, id, &Document(document)),
            Action::Delete => Ok(Change::delete(&self.kind, id)),
        };
        let change = change.expect("documents are items");
        match &self.expected {
            Some(version) => change.expecting(version),
            None => change,
        }
    }
}

pub(crate) fn kind_of(error: &Error) -> Kind {
    match error {
        Error::Fields { .. } => Kind::Fields,
        Error::NotFound { .. } => Kind::NotFound,
        Error::Exists { .. } => Kind::Exists,
        Error::UniqueViolation { .. } => Kind::Taken,
        Error::VersionMismatch { .. } => Kind::VersionMismatch,
        Error::InUse { .. } => Kind::InUse,
        Error::TargetGone { .. } => Kind::TargetGone,
        Error::SameTwice { .. } => Kind::SameTwice,
        Error::Tenant { .. } => Kind::Tenant,
        Error::Id { .. } => Kind::Id,
        Error::TooLarge { .. } => Kind::TooLarge,
        Error::Unknown { .. } => Kind::Unknown,
        other => Kind::Other(other.to_string()),
    }
}
