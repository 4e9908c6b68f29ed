//! Values of fields, as text of a request.

use keyloom::Value;
use keyloom_model::{Field, FieldType};

use super::call::{bad_parameter, cut};
use super::problem::Problem;

/// Parses text of a request as a value of a field.
pub(crate) fn value(field: &Field, text: &str) -> Result<Value, Problem> {
    let refuse = || {
        let (name, kind) = (&field.name, field.of.name());
        bad_parameter(format!("`{name}` is of the type {kind}, and `{}` is not.", cut(text)))
    };
    match &field.of {
        FieldType::Int(_) => text.parse::<i64>().map(Value::from).map_err(|_| refuse()),
        FieldType::Number(_) => text.parse().map(Value::N).map_err(|_| refuse()),
        FieldType::Enum(members) if !members.iter().any(|member| member == text) => {
            let (name, members) = (&field.name, members.join("`, `"));
            let detail = format!("`{name}` is one of `{members}`, and `{}` is not.", cut(text));
            Err(bad_parameter(detail))
        }
        FieldType::Bool => text.parse().map(Value::Bool).map_err(|_| refuse()),
        _ => match field.of.to_stored(&Value::from(text)) {
            // Text that could not be converted is no value of the field.
            Value::S(_) if matches!(field.of, FieldType::Time | FieldType::Bytes(_)) => {
                Err(refuse())
            }
            value => Ok(value),
        },
    }
}
