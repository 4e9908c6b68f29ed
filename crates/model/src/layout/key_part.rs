//! Field values as parts of keys: how they compare, how they sort, and how long a key may get.

use std::borrow::Cow;

use keyloom_value::{KeyBytes, Number, Value};

use super::{Layout, RowKey};
use crate::model::{CaseMode, Entity, EntityId, Field, FieldId, FieldType};

/// The values of an entity do not fit into a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "The values that {what} is made of take {bytes} bytes as a key, and a key has at most {bytes_max}: \
     shorten them."
)]
pub struct KeyTooLong {
    /// The list or unique that the key belongs to.
    pub what: String,
    /// The length of the key.
    pub bytes: usize,
    /// The maximum length.
    pub bytes_max: usize,
}

/// Appends a value. One that cannot be part of a key is left out: values of the model always can be,
/// those of a damaged row need not, and verification reports them.
pub(super) fn push_key(key: &mut KeyBytes, value: &Value) {
    let _ = key.push(value);
}

pub(super) fn check_len(
    key: &KeyBytes,
    bytes_max: usize,
    what: impl FnOnce() -> String,
) -> Result<(), KeyTooLong> {
    let bytes = key.as_bytes().len();
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(KeyTooLong { what: what(), bytes, bytes_max })
}

/// Checks a key that the id and the tenant of an entity are part of.
pub(super) fn check_key(key: &RowKey, entity: &Entity) -> Result<(), KeyTooLong> {
    let what = || format!("the id of a `{}`, with its tenant,", entity.name);
    check_len(&key.partition, RowKey::PARTITION_BYTES_MAX, what)?;
    check_len(&key.sort, RowKey::SORT_BYTES_MAX, what)
}

/// A value in the form that is compared for equality.
pub(super) fn equality<'v>(field: &Field, value: &'v Value) -> Cow<'v, Value> {
    match (&field.of, value) {
        (FieldType::Bool, Value::Bool(truth)) => Cow::Owned(Value::from(i32::from(*truth))),
        _ => Cow::Borrowed(value),
    }
}

/// A value in the form that is ordered: an enum by the order of its members, false before true.
pub(super) fn in_order<'v>(field: &Field, value: &'v Value) -> Cow<'v, Value> {
    match (&field.of, value) {
        (FieldType::Enum(members), Value::S(word)) => {
            let position = members.iter().position(|member| member == word);
            let position = position.unwrap_or(members.len());
            Cow::Owned(Value::N(Number::from(position as u64)))
        }
        _ => equality(field, value),
    }
}

pub(super) fn folded(value: Cow<'_, Value>, case: CaseMode) -> Cow<'_, Value> {
    match (case, value.as_ref()) {
        (CaseMode::Folded, Value::S(text)) => Cow::Owned(Value::S(text.to_lowercase())),
        (CaseMode::Folded | CaseMode::Exact, _) => value,
    }
}

/// Appends a value of each of these fields.
pub(super) fn push_values<'m>(
    key: &mut KeyBytes,
    fields: impl Iterator<Item = &'m Field>,
    values: &[Value],
) {
    for (field, value) in fields.zip(values) {
        push_key(key, &equality(field, value));
    }
}

impl Layout {
    /// The value of a field, from its form in a key.
    pub fn value_from_key(&self, entity: EntityId, field: FieldId, value: &Value) -> Value {
        let field = self.model().entity(entity).field(field);
        match (&field.of, value) {
            (FieldType::Bool, Value::N(number)) => Value::Bool(number.to_i64() == Some(1)),
            _ => value.clone(),
        }
    }
}
