//! Operations: a method of a path each. Routing, access checks, documentation and metrics all read one
//! list of them.
//!
//! What there is to say about an operation is in one file of `operations`: where it is served, who may
//! run it, what it takes and answers, and what it does.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use hyper::Method;
use keyloom_model::{Entity, EntityId, FieldId, Model, PathPart};

use super::access::Role;
use super::asked::Asked;
use super::call::{Call, Reply};
use super::openapi::Description;
use super::problem::Problem;
use super::state::State;
use super::uri;

/// A method of a path.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Its name, which no other operation has: `create_task`.
    pub(crate) name: String,
    pub(crate) method: Method,
    pub(crate) path: Vec<Segment>,
    pub(crate) action: Box<dyn Action>,
}

/// What an operation is, beside its place.
pub(crate) trait Action: fmt::Debug + Send + Sync {
    /// Who may run it.
    fn access(&self) -> Access;

    /// The entity whose documents it takes or answers with, if they are of one kind.
    fn entity(&self) -> Option<EntityId> {
        None
    }

    /// What it is for, what it takes and what it answers.
    fn describe(&self, model: &Model) -> Description;

    /// Answers a request of somebody who may.
    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c>;

    /// Whether `explain` can be asked of it.
    fn is_explained(&self) -> bool {
        false
    }

    /// Whether its answer to a call is put together from several reads, which must be of one moment.
    fn takes_several_reads(&self, _: &Call) -> bool {
        false
    }

    /// Whether it is answered at once, without a turn in the pool: it reads no data.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Whether its answer is a stream. Browsers cannot send a header for one, so that its token may be in
    /// the query.
    fn is_stream(&self) -> bool {
        false
    }

    /// Whether it reads one entity. Who may read them one by one may follow their changes.
    fn is_read_of_one(&self) -> bool {
        false
    }

    /// The lists and uniques that it answers from, if it answers with a page of them.
    fn lists(&self) -> Option<&Asked> {
        None
    }
}

/// An answer in the making.
pub(crate) type Running<'c> = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send + 'c>>;

/// A part of a path, between slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    Text(String),
    /// Anything; the name is for people.
    Parameter(String),
}

/// Who may do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anybody: it says nothing about data, or knows itself whom it tells what.
    Anybody,
    /// Whoever has at least this role.
    Role(Role),
}

impl Operation {
    pub(crate) fn new(
        name: String,
        method: Method,
        path: Vec<Segment>,
        action: impl Action + 'static,
    ) -> Operation {
        Operation { name, method, path, action: Box::new(action) }
    }

    pub(crate) fn access(&self) -> Access {
        self.action.access()
    }

    /// The entity whose data it changes.
    pub(crate) fn changes(&self) -> Option<EntityId> {
        self.action.entity().filter(|_| self.access() == Access::Role(Role::Writer))
    }

    /// The values of the path's parameters in a request, in order.
    pub(crate) fn values(&self, segments: &[String]) -> Vec<String> {
        let pairs = self.path.iter().zip(segments);
        let values = pairs.filter(|(expected, _)| matches!(expected, Segment::Parameter(_)));
        values.map(|(_, value)| value.clone()).collect()
    }

    /// Whether a request for a page at a path would be a request to this.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let Ok(segments) = uri::segments(path) else { return false };
        let is_same = |(expected, segment): (&Segment, &String)| match expected {
            Segment::Text(text) => text == segment,
            Segment::Parameter(_) => !segment.is_empty(),
        };
        self.method == Method::GET
            && self.path.len() == segments.len()
            && self.path.iter().zip(&segments).all(is_same)
    }

    /// Its path as people write it: `/tasks/{id}`.
    pub(crate) fn path_text(&self) -> String {
        let segment = |segment: &Segment| match segment {
            Segment::Text(text) => format!("/{text}"),
            Segment::Parameter(name) => format!("/{{{name}}}"),
        };
        self.path.iter().map(segment).collect()
    }
}

impl Segment {
    pub(crate) fn text(text: &str) -> Segment {
        Segment::Text(text.to_owned())
    }

    pub(crate) fn parameter(name: &str) -> Segment {
        Segment::Parameter(name.to_owned())
    }

    /// A path as people write it, with parameters in braces: `/tasks/{id}`.
    pub(crate) fn path(path: &str) -> Vec<Segment> {
        let segment = |text: &str| {
            let parameter = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            parameter.map_or_else(|| Segment::text(text), Segment::parameter)
        };
        path.trim_start_matches('/').split('/').map(segment).collect()
    }

    /// The path of an entity.
    pub(crate) fn path_of(entity: &Entity) -> Vec<Segment> {
        entity.path.split('/').filter(|text| !text.is_empty()).map(Segment::text).collect()
    }

    /// The path of one of them: `/tasks/{id}`.
    pub(crate) fn path_of_one(entity: &Entity) -> Vec<Segment> {
        [Segment::path_of(entity), vec![Segment::parameter("id")]].concat()
    }

    /// A path that the model declares, and the fields whose values are in it, in order.
    pub(crate) fn declared_path(
        entity: &Entity,
        parts: &[PathPart],
    ) -> (Vec<Segment>, Vec<FieldId>) {
        let segment = |part: &PathPart| match part {
            PathPart::Text(text) => Segment::text(text),
            PathPart::Field(field) => Segment::parameter(&entity.field(*field).name),
        };
        let field = |part: &PathPart| match part {
            PathPart::Text(_) => None,
            PathPart::Field(field) => Some(*field),
        };
        (parts.iter().map(segment).collect(), parts.iter().filter_map(field).collect())
    }
}
