//! What is called after changes: `on.ENTITY.CHANGE = "TARGET"`.

use crate::declared::DeclaredHandler;
use crate::error::Reporter;
use crate::model::{Handler, TriggeringChange};

use super::field::choose;
use super::name::{Entities, check_name};

pub(crate) fn handlers(
    declared: &[DeclaredHandler],
    entities: &Entities<'_>,
    reporter: &mut Reporter<'_>,
) -> Vec<Handler> {
    let mut handlers = vec![];
    for handler in declared {
        check_name(&handler.target, "what is called", reporter);
        let entity = entities.find(&handler.entity, reporter);
        let changes = ["insert", "update", "delete"];
        let change = match choose(&handler.change, "a change", &changes, reporter) {
            Some("insert") => TriggeringChange::Insert,
            Some("update") => TriggeringChange::Update,
            Some("delete") => TriggeringChange::Delete,
            _ => continue,
        };
        let Some(entity) = entity else { continue };
        handlers.push(Handler { entity, change, target: handler.target.text.clone() });
    }
    handlers
}
