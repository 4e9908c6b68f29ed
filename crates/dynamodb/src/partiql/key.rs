//! The key that the condition of a write, or of a read of one item, names.

use keyloom_store::KeySchema;
use keyloom_value::{Comparison, Condition, Item, Name, Operand, Value};

/// A condition, divided into the key it names and the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pinned {
    /// The key attributes that have a value by equality, each with the first one named.
    pub(crate) key: Item,
    /// The first attribute that has several values.
    pub(crate) conflict: Option<Name>,
    /// What else the condition requires.
    pub(crate) rest: Vec<Condition>,
}

/// Takes the equalities on key attributes out of a condition.
pub(crate) fn pinned(condition: Option<&Condition>, schema: &KeySchema) -> Pinned {
    let mut pinned = Pinned::default();
    if let Some(condition) = condition {
        collect(condition, schema, &mut pinned);
    }
    pinned
}

impl Pinned {
    /// Whether every key attribute has a value.
    pub(crate) fn is_complete(&self, schema: &KeySchema) -> bool {
        schema.attributes().all(|part| self.key.get(part.name.as_str()).is_some())
    }

    /// Returns the rest as one condition.
    pub(crate) fn condition(self) -> Option<Condition> {
        Condition::all(self.rest)
    }
}

fn collect(condition: &Condition, schema: &KeySchema, pinned: &mut Pinned) {
    if let Condition::And(parts) = condition {
        return parts.iter().for_each(|part| collect(part, schema, pinned));
    }
    let Some((name, value)) = equality(condition).filter(|(name, _)| schema.has(name)) else {
        return pinned.rest.push(condition.clone());
    };
    match pinned.key.get(name.as_str()) {
        None => drop(pinned.key.insert(name.clone(), value.clone())),
        Some(known) if known == value => {}
        Some(_) => {
            pinned.conflict.get_or_insert_with(|| name.clone());
            pinned.rest.push(condition.clone());
        }
    }
}

/// Returns the attribute and the value of `name = value`, in either order.
pub(super) fn equality(condition: &Condition) -> Option<(&Name, &Value)> {
    match condition {
        Condition::Compare { left, comparison: Comparison::Equal, right } => match (left, right) {
            (Operand::Path(path), Operand::Value(value))
            | (Operand::Value(value), Operand::Path(path))
                if path.steps().is_empty() =>
            {
                Some((path.root(), value))
            }
            _ => None,
        },
        _ => None,
    }
}
