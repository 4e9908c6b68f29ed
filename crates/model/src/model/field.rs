//! Fields and their types.

use keyloom_value::Number;

use super::{DefaultValue, EntityId};

/// A field of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub(crate) u16);

impl FieldId {
    /// Its place among the entity's fields, from 0; `id` has 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub(crate) fn from_index(index: usize) -> Option<FieldId> {
        u16::try_from(index).ok().map(FieldId)
    }
}

/// A value that every entity of a kind has, or may have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Its name in the model.
    pub name: String,
    /// Why it is there.
    pub origin: FieldOrigin,
    /// What it holds.
    pub of: FieldType,
    /// Whether it may be absent.
    pub presence: Presence,
    /// What it holds when nothing is given.
    pub default: Option<DefaultValue>,
    /// What clients of the service can do with it.
    pub access: FieldAccess,
}

/// What clients of the service can do with a field. The service itself can do everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldAccess {
    /// They read and set it.
    ReadWrite,
    /// They read it; the service alone sets it.
    ReadOnly,
}

/// Why a field is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOrigin {
    /// Every entity has an `id`.
    Id,
    /// A child has a field with the name of its parent, which holds the parent's id.
    Parent,
    /// The author declared it.
    Declared,
}

/// Whether a value may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is always there.
    Required,
    /// It may be absent.
    Optional,
}

/// What a field holds. Every place that handles types lists all of them, so that the compiler finds
/// the places for a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Text; the limits are of its length in characters.
    Text(Limits<u64>),
    /// A whole number of 64 bits.
    Int(Limits<i64>),
    /// A decimal number of up to 38 digits.
    Number(Limits<Number>),
    /// True or false.
    Bool,
    /// A moment, to the millisecond.
    Time,
    /// Bytes; the limits are of their count.
    Bytes(Limits<u64>),
    /// Anything that JSON can say.
    Any,
    /// Keys with values, each of which can be looked for.
    Tags,
    /// One of these words.
    Enum(Vec<String>),
    /// The id of another entity, and what happens here when that one is deleted.
    Ref(EntityId, OnDelete),
    /// Several values; the limits are of their count.
    List(Box<FieldType>, Limits<u64>),
    /// Values by name; the limits are of their count.
    Map(Box<FieldType>, Limits<u64>),
}

impl FieldType {
    /// What the model file calls it.
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

/// A range that may be open on either side; both bounds belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits<T> {
    /// The least.
    pub low: Option<T>,
    /// The greatest.
    pub high: Option<T>,
}

impl<T: PartialOrd> Limits<T> {
    /// No limits at all.
    pub const NONE: Limits<T> = Limits { low: None, high: None };

    /// Whether a value keeps the limits.
    pub fn contain(&self, value: &T) -> bool {
        self.low.as_ref().is_none_or(|low| low <= value)
            && self.high.as_ref().is_none_or(|high| value <= high)
    }
}

/// What happens to an entity when one that it refers to is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDelete {
    /// That one cannot be deleted.
    Refuse,
    /// This one is deleted too.
    Cascade,
    /// The reference becomes absent.
    Clear,
    /// The id stays, though nothing is there any more. Only references in lists are kept.
    Keep,
}
