//! What the documentation of generated code says of fields.

use keyloom_model::{FieldId, FieldType, Presence};

use crate::rust_type::Scope;

/// Describes a field in a sentence: its values, and whether it can be absent.
pub(crate) fn field(scope: Scope<'_>, id: FieldId) -> String {
    let field = scope.field(id);
    let absent = match field.presence {
        Presence::Required => "",
        Presence::Optional => ", or absent",
    };
    capitalized(&format!("{}{absent}.", values(scope, &field.of)))
}

/// Names the fields of a query.
pub(crate) fn names(scope: Scope<'_>, fields: &[FieldId]) -> String {
    let names = fields.iter().map(|id| format!("`{}`", scope.field(*id).name));
    names.collect::<Vec<_>>().join(", ")
}

fn values(scope: Scope<'_>, of: &FieldType) -> String {
    match of {
        FieldType::Ref(target, _) => format!("the id of a `{}`", scope.model.entity(*target).name),
        FieldType::Time => "a time".to_owned(),
        FieldType::Bytes(_) => of.in_words().replace(" as base64", ""),
        FieldType::Any => "any value".to_owned(),
        FieldType::Text(_)
        | FieldType::Int(_)
        | FieldType::Number(_)
        | FieldType::Bool
        | FieldType::Tags
        | FieldType::Enum(_)
        | FieldType::List(..)
        | FieldType::Map(..) => of.in_words(),
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
