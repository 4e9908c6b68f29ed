//! Values that are written in a model: defaults, and what `where` compares with.

use keyloom_value::Number;

/// A value of a field's own type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Literal {
    /// Of a text, an enum or a reference.
    Text(String),
    /// Of an int.
    Int(i64),
    /// Of a number.
    Number(Number),
    /// Of a bool.
    Bool(bool),
    /// Of a time: milliseconds since the start of 1970 in UTC.
    Time(i64),
    /// A list with nothing in it.
    EmptyList,
    /// A map, or tags, with nothing in it.
    EmptyMap,
}

/// What a field holds when nothing is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// The time of the creation.
    Now,
    /// Always the same.
    Literal(Literal),
}
