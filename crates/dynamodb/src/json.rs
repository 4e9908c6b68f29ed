//! JSON as the wire has it: a tree that borrows from the text, and a writer.
//!
//! Numbers stay text, because the wire's own numbers are texts and the few others are counts.
//! Nesting is limited, so that hostile text cannot use up the stack, and so is the number of values,
//! so that it cannot use up memory. Lists and objects have no spare capacity: nearly every object is
//! a value with its type, one member.

mod parse;
mod write;

use std::borrow::Cow;

pub(crate) use parse::parse;
pub(crate) use write::Writer;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// As it is written.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Box<[Json<'a>]>),
    /// Members in their order; of two with one name the last counts.
    Object(Box<[(Cow<'a, str>, Json<'a>)]>),
}

impl<'a> Json<'a> {
    /// A member of an object; null is the same as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&Json<'a>> {
        let Json::Object(members) = self else { return None };
        let member = members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value);
        member.filter(|value| **value != Json::Null)
    }
}
