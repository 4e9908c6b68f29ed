//! The services that are compared: their paths, and what their events look like.

/// A service that tells clients about changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Keyloom,
    PocketBase,
}

impl Service {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Service::Keyloom => "Keyloom",
            Service::PocketBase => "PocketBase",
        }
    }

    /// The path of all tasks.
    pub(crate) fn tasks(self) -> &'static str {
        match self {
            Service::Keyloom => "/tasks",
            Service::PocketBase => "/api/collections/tasks/records",
        }
    }

    /// The status of a task that was created.
    pub(crate) fn created(self) -> u16 {
        match self {
            Service::Keyloom => 201,
            Service::PocketBase => 200,
        }
    }

    /// The path of the stream of an owner's tasks.
    pub(crate) fn stream(self, owner: usize) -> String {
        match self {
            Service::Keyloom => format!("/owners/o{owner}/tasks?limit=20&live=true"),
            Service::PocketBase => "/api/realtime".to_owned(),
        }
    }

    /// A request that a client sends once its stream is open, by its first event.
    pub(crate) fn subscription(self, first_event: &str, owner: usize) -> Option<String> {
        if self == Service::Keyloom {
            return None;
        }
        let (_, rest) = first_event.split_once(r#""clientId":""#).expect("the id of a client");
        let (client, _) = rest.split_once('"').expect("an id ends");
        let filter = format!("%7B%22query%22%3A%7B%22filter%22%3A%22owner%3D'o{owner}'%22%7D%7D");
        Some(format!(r#"{{"clientId":"{client}","subscriptions":["tasks/*?options={filter}"]}}"#))
    }

    /// Whether an event says that a task has changed.
    pub(crate) fn is_change(self, event: &str) -> bool {
        match self {
            Service::Keyloom => {
                event.contains("\nevent: change\n") || event.contains("\nevent: move\n")
            }
            Service::PocketBase => event.contains(r#""action":"update""#),
        }
    }
}
