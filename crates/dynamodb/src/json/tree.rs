//! The tree of a request.

use std::borrow::Cow;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// As written.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Box<[Json<'a>]>),
    /// Members in order; the last of several with the same name wins.
    Object(Box<[(Cow<'a, str>, Json<'a>)]>),
}

impl<'a> Json<'a> {
    /// Returns a member of an object; null counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&Json<'a>> {
        let Json::Object(members) = self else { return None };
        let member = members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value);
        member.filter(|value| **value != Json::Null)
    }
}
