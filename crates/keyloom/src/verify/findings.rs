//! Collects findings, and formats the keys in them.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{EntityKey, Model};
use keyloom_value::{Item, KeyBytes, Value};

use super::{Finding, Problem, Remedy, Repair};

/// What was found, in order.
pub(super) struct Findings<'a> {
    model: &'a Model,
    repair: Repair,
    found: Vec<Finding>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(model: &'a Model, repair: Repair) -> Findings<'a> {
        Findings { model, repair, found: vec![] }
    }

    /// Adds a problem of an entity.
    pub(super) fn of_entity(&mut self, key: &EntityKey, problem: Problem, remedy: Remedy) {
        let (entity, id) = (self.model.entity(key.entity).name.clone(), key.id.clone());
        self.found.push(Finding { entity, id, problem, remedy });
    }

    /// Adds a problem of a row that belongs to no entity.
    pub(super) fn of_row(&mut self, problem: Problem, remedy: Remedy) {
        self.found.push(Finding { entity: String::new(), id: String::new(), problem, remedy });
    }

    /// Adds what could not be verified.
    pub(super) fn unchecked(&mut self, what: String, reason: &str) {
        let problem = Problem::Unchecked { what, reason: reason.to_owned() };
        self.of_row(problem, self.repair.for_a_person());
    }

    pub(super) fn append(&mut self, others: Findings<'_>) {
        self.found.extend(others.found);
    }

    pub(super) fn into_vec(self) -> Vec<Finding> {
        self.found
    }
}

/// Formats the values in the name of a posting list.
pub(super) fn show_name(name: &[u8]) -> String {
    match KeyBytes::decode(name) {
        Ok(parts) => show_parts(&parts),
        Err(_) => Value::B(name.to_vec()).to_string(),
    }
}

/// Formats the values in the key of a row.
pub(super) fn show_key(row: &Item) -> String {
    let part = |name| match row.get(name).and_then(Value::as_b).map(KeyBytes::decode) {
        Some(Ok(parts)) => show_parts(&parts),
        Some(Err(_)) | None => row.get(name).map(ToString::to_string).unwrap_or_default(),
    };
    format!("{} / {}", part(PARTITION), part(SORT))
}

fn show_parts(parts: &[Value]) -> String {
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    format!("({})", parts.join(", "))
}
