//! Values written in a model file: defaults, and the values of `where`.

use keyloom_value::Number;

/// A value of a field's own type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Literal {
    /// A text, an enum member or a reference.
    Text(String),
    /// An int.
    Int(i64),
    /// A number.
    Number(Number),
    /// A bool.
    Bool(bool),
    /// A time, in milliseconds since the start of 1970 in UTC.
    Time(i64),
    /// An empty list.
    EmptyList,
    /// An empty map, or no tags.
    EmptyMap,
}

/// The default of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// The time of creation.
    Now,
    /// A fixed value.
    Literal(Literal),
}
