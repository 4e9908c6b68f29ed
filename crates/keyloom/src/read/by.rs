//! The values of `by` that select one partition of a list, a count or a board.

use keyloom_model::{Entity, FieldId};
use keyloom_value::Value;

use crate::error::Error;
use crate::unknown::unknown;

/// The values of `by` that a caller gave to a list, a count or a board.
pub(crate) struct Given<'g> {
    pub(crate) what: &'static str,
    pub(crate) name: &'g str,
    pub(crate) values: &'g [(String, Value)],
}

/// Returns one value for each field of `by`, in its order.
pub(crate) fn by_values(
    entity: &Entity,
    fields: &[FieldId],
    given: &Given<'_>,
) -> Result<Vec<Value>, Error> {
    let Given { what, name: of, values } = given;
    for (index, (name, _)) in values.iter().enumerate() {
        if values[..index].iter().any(|(before, _)| before == name) {
            return Err(bounded_twice(name));
        }
        let is_by = |field: &FieldId| entity.field(*field).name == *name;
        if !fields.iter().any(is_by) {
            let what = format!("`{name}` is not a `by` field of the {what} `{of}`");
            let names = fields.iter().map(|field| entity.field(*field).name.as_str());
            return Err(unknown(what, name, names));
        }
    }
    let value = |field: &FieldId| {
        let field = entity.field(*field);
        let given = values.iter().find(|(name, _)| *name == field.name);
        given.map(|(_, value)| field.of.to_stored(value)).ok_or_else(|| Error::Unknown {
            what: format!("The {what} `{of}` requires a value of `{}`", field.name),
            help: Some(format!("there is one {what} per value")),
        })
    };
    fields.iter().map(value).collect()
}

/// A field has more than one value, or more than one bound on a side.
pub(super) fn bounded_twice(field: &str) -> Error {
    Error::Unknown {
        what: format!("`{field}` has several values or bounds"),
        help: Some("give it one value, or one lower and one upper bound".to_owned()),
    }
}
