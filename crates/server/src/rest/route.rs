//! Operations as a program lists them.

use keyloom_model::Model;

use super::operation::Operation;
use super::role::Role;

/// An operation of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its unique name: `create_task`.
    pub name: String,
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// `/tasks/{id}`.
    pub path: String,
    /// The least role that may run it; `None` if it is public.
    pub role: Option<Role>,
    /// The entity whose documents it takes or returns.
    pub entity: Option<String>,
}

impl Route {
    pub(super) fn of(operation: &Operation, model: &Model) -> Route {
        Route {
            name: operation.name.clone(),
            method: operation.method.to_string(),
            path: operation.path_text(),
            role: operation.access().role(),
            entity: operation.action.entity().map(|entity| model.entity(entity).name.clone()),
        }
    }
}
