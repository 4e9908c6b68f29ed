//! Fields and their types.

use keyloom_value::Number;

use super::id::EntityId;
use super::literal::DefaultValue;

/// A field of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Its name in the model.
    pub name: String,
    /// Its name in rows and keys: the one that it was stored under first, however it is called since.
    pub stored: String,
    /// Whether it is declared or implied.
    pub origin: FieldOrigin,
    /// Its type.
    pub of: FieldType,
    /// Whether it may be absent.
    pub presence: Presence,
    /// Its value if a document omits it.
    pub default: Option<DefaultValue>,
    /// What clients of the service can do with it.
    pub access: FieldAccess,
}

/// What clients of the service can do with a field. The service itself can always set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldAccess {
    /// They can read and set it.
    ReadWrite,
    /// They can read it; only the service sets it.
    ReadOnly,
}

/// Whether a field is declared or implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOrigin {
    /// Every entity has an `id`.
    Id,
    /// Every child has a field named after its parent, which holds the parent's id.
    Parent,
    /// The model file declares it.
    Declared,
}

/// Whether a value may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is always present.
    Required,
    /// It may be absent.
    Optional,
}

/// The type of a field. Code that handles types matches all of them, so that the compiler finds
/// what a new type needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Text; the limits are on its length in characters.
    Text(Limits<u64>),
    /// A 64-bit integer.
    Int(Limits<i64>),
    /// A decimal number of up to 38 digits.
    Number(Limits<Number>),
    /// True or false.
    Bool,
    /// A time, to the millisecond.
    Time,
    /// Bytes; the limits are on their number.
    Bytes(Limits<u64>),
    /// Any JSON value.
    Any,
    /// Keys with values, each of which can be searched for.
    Tags,
    /// One of these words.
    Enum(Vec<String>),
    /// The id of another entity, and what happens to this one when that one is deleted.
    Ref(EntityId, OnDelete),
    /// Several values; the limits are on their number.
    List(Box<FieldType>, Limits<u64>),
    /// Values by name; the limits are on their number.
    Map(Box<FieldType>, Limits<u64>),
}

impl FieldType {
    /// Its name in model files.
    pub fn name(&self) -> &'static str {
        match self {
            FieldType::Text(_) => "text",
            FieldType::Int(_) => "int",
            FieldType::Number(_) => "number",
            FieldType::Bool => "bool",
            FieldType::Time => "time",
            FieldType::Bytes(_) => "bytes",
            FieldType::Any => "any",
            FieldType::Tags => "tags",
            FieldType::Enum(_) => "enum",
            FieldType::Ref(..) => "ref",
            FieldType::List(..) => "list",
            FieldType::Map(..) => "map",
        }
    }
}

/// An inclusive range that may be open on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits<T> {
    /// The lower bound.
    pub low: Option<T>,
    /// The upper bound.
    pub high: Option<T>,
}

impl<T: PartialOrd> Limits<T> {
    /// No limits.
    pub const NONE: Limits<T> = Limits { low: None, high: None };

    /// Whether a value is within the limits.
    pub fn contains(&self, value: &T) -> bool {
        self.low.as_ref().is_none_or(|low| low <= value)
            && self.high.as_ref().is_none_or(|high| value <= high)
    }
}

/// What happens to an entity when one that it refers to is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDelete {
    /// The deletion is refused.
    Refuse,
    /// The entity is deleted too.
    Cascade,
    /// The reference is removed.
    Clear,
    /// The id stays, although its target no longer exists. Only for references in lists.
    Keep,
}
