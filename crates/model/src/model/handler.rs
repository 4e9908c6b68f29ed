//! Handlers: what is called after a change.

use super::id::EntityId;

/// A call after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handler {
    /// The entity that changes.
    pub entity: EntityId,
    /// The kind of change.
    pub change: TriggeringChange,
    /// What is called.
    pub target: Target,
}

/// What is called after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The program's own handler of this name.
    Handler(String),
    /// A webhook: the event is posted to this URL.
    Webhook(String),
    /// A job of this kind, with the event as its payload.
    Job(String),
}

/// A kind of change that can trigger a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggeringChange {
    /// The entity was created.
    Insert,
    /// The entity was changed.
    Update,
    /// The entity was deleted.
    Delete,
}

impl TriggeringChange {
    /// All kinds.
    pub const ALL: [TriggeringChange; 3] =
        [TriggeringChange::Insert, TriggeringChange::Update, TriggeringChange::Delete];

    /// Its name in model files and in events.
    pub fn as_str(self) -> &'static str {
        match self {
            TriggeringChange::Insert => "insert",
            TriggeringChange::Update => "update",
            TriggeringChange::Delete => "delete",
        }
    }
}
