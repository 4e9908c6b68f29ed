//! Operations as they are told to programs.

use keyloom_model::Model;

use super::access::Role;
use super::operation::{Access, Operation};

/// An operation of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its name, which no other has: `create_task`.
    pub name: String,
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// `/tasks/{id}`.
    pub path: String,
    /// The least role that may do it; none if anybody may.
    pub role: Option<Role>,
    /// The entity whose documents it takes or answers with.
    pub entity: Option<String>,
}

impl Route {
    pub(super) fn of(operation: &Operation, model: &Model) -> Route {
        let role = match operation.access() {
            Access::Anybody => None,
            Access::Role(role) => Some(role),
        };
        Route {
            name: operation.name.clone(),
            method: operation.method.to_string(),
            path: operation.path_text(),
            role,
            entity: operation.action.entity().map(|entity| model.entity(entity).name.clone()),
        }
    }
}
