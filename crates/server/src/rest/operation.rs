//! Operations: each is a method of a path. Routing, access checks, documentation and metrics all read one
//! list of them.
//!
//! Everything about an operation is in one file of `operations`: its path, who may run it, its parameters
//! and responses, and what it does.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use hyper::Method;
use keyloom::bulk::BulkKind;
use keyloom_model::{Entity, EntityId, Grantees, Model};

use super::call::{Call, Reply};
use super::openapi::Description;
use super::path_queries::PathQueries;
use super::problem::Problem;
use super::role::Role;
use super::segment::Segment;
use super::state::State;
use super::uri;

/// A method of a path.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Its unique name: `create_task`.
    pub(crate) name: String,
    pub(crate) method: Method,
    pub(crate) path: Vec<Segment>,
    pub(crate) action: Box<dyn Action>,
}

/// What an operation does, apart from its path.
pub(crate) trait Action: fmt::Debug + Send + Sync {
    /// Who may run it.
    fn access(&self) -> Access;

    /// The entity whose documents it takes or returns, if they are of one kind.
    fn entity(&self) -> Option<EntityId> {
        None
    }

    /// The access rules of its entity that it is for.
    fn grantees<'m>(&self, _: &'m Entity) -> Vec<&'m Grantees> {
        vec![]
    }

    /// Its documentation, parameters and responses.
    fn describe(&self, model: &Model) -> Description;

    /// Runs it for a caller that may.
    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c>;

    /// Whether it is a query of data: it supports `explain`, and can be followed with `live`.
    fn is_query(&self) -> bool {
        false
    }

    /// Whether its response to a call combines several reads, which must be of one snapshot.
    fn takes_several_reads(&self, _: &Call) -> bool {
        false
    }

    /// Whether it runs immediately, outside the pool: it reads no data.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Whether its response is a stream. Browsers cannot send headers for one, so its token can be in the
    /// query.
    fn is_stream(&self) -> bool {
        false
    }

    /// Whether it reads one entity. Changes of entities that can be read one by one can be followed.
    fn is_read_of_one(&self) -> bool {
        false
    }

    /// Whether it takes the parameters of pages although it is about no entity.
    fn is_paged(&self) -> bool {
        false
    }

    /// What it does to all entities of a list, and their kind, if it does that.
    fn bulk(&self) -> Option<(BulkKind, EntityId)> {
        None
    }

    /// The lists and uniques that it returns pages of, if it does.
    fn lists(&self) -> Option<&PathQueries> {
        None
    }
}

/// A running operation.
pub(crate) type Running<'c> = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send + 'c>>;

/// Who may run an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anybody: it reveals no data, or checks access itself.
    Public,
    /// Callers with at least this role.
    Role(Role),
    /// The same, and users as far as the access rules of the model allow.
    Data(Role),
}

impl Access {
    /// The least role of a caller whom no rules limit; none if anybody may run it.
    pub(crate) fn role(self) -> Option<Role> {
        match self {
            Access::Public => None,
            Access::Role(role) | Access::Data(role) => Some(role),
        }
    }
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
        self.action.entity().filter(|_| self.access().role() == Some(Role::Writer))
    }

    /// The values of the path parameters of a request, in order.
    pub(crate) fn values(&self, segments: &[String]) -> Vec<String> {
        let pairs = self.path.iter().zip(segments);
        let values = pairs.filter(|(expected, _)| matches!(expected, Segment::Parameter(_)));
        values.map(|(_, value)| value.clone()).collect()
    }

    /// Whether a GET request for a path would match this operation.
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

    /// Its path with parameters in braces: `/tasks/{id}`.
    pub(crate) fn path_text(&self) -> String {
        let segment = |segment: &Segment| match segment {
            Segment::Text(text) => format!("/{text}"),
            Segment::Parameter(name) => format!("/{{{name}}}"),
        };
        self.path.iter().map(segment).collect()
    }
}
