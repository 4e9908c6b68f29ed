//! From a method and a path to an operation.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use hyper::header::ALLOW;
use hyper::{Method, StatusCode};

use super::call::Reply;
use super::operation::Operation;
use super::problem::Problem;
use super::segment::Segment;
use super::service::{RestService, respond};
use super::uri;
use crate::http::exchange::{Exchange, LogFields};

/// The operations by path. The matcher is that of axum's router, which also boxes a handler and stores what it has
/// matched for every request: operations need neither.
#[derive(Debug)]
pub(super) struct Routes(matchit::Router<Vec<usize>>);

impl Routes {
    /// # Errors
    ///
    /// If a request could mean two operations.
    pub(super) fn new(operations: &[Operation]) -> Result<Routes, String> {
        let mut by_path: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, operation) in operations.iter().enumerate() {
            let (path, method) = (pattern(&operation.path), &operation.method);
            let there = by_path.entry(path).or_default();
            if let Some(other) = there.iter().find(|other| operations[**other].method == method) {
                let (other, name) = (&operations[*other].name, &operation.name);
                let path = operation.path_text();
                return Err(format!(
                    "The operations `{other}` and `{name}` are both `{method} {path}`: give what one of \
                     them serves another `path`."
                ));
            }
            there.push(index);
        }
        let mut routes = matchit::Router::new();
        for (path, indexes) in by_path {
            let refuse = |error| format!("The path `{path}` cannot be served: {error}.");
            routes.insert(path.clone(), indexes).map_err(refuse)?;
        }
        Ok(Routes(routes))
    }

    /// The operations at a path, as indexes; `None` if nothing is there.
    fn at(&self, path: &str) -> Option<&[usize]> {
        self.0.at(path).ok().map(|found| found.value.as_slice())
    }
}

/// The pattern of a path. It does not contain the names of parameters: two operations of one path may
/// name them differently.
pub(super) fn pattern(path: &[Segment]) -> String {
    let mut pattern = String::new();
    for (index, segment) in path.iter().enumerate() {
        match segment {
            Segment::Text(text) => {
                let text = uri::encode(text);
                pattern.push_str(&format!("/{text}"));
            }
            Segment::Parameter(_) => pattern.push_str(&format!("/{{p{index}}}")),
        }
    }
    pattern
}

impl RestService {
    /// Answers a request by the operation that it names.
    pub(super) async fn route(
        self: &Arc<Self>,
        exchange: &Arc<Exchange>,
        request: Request,
    ) -> Response {
        let Some(indexes) = self.routes.at(request.uri().path()) else {
            return self.no_route(exchange, &request);
        };
        // The body of the response to HEAD is not sent.
        let method = without_head(request.method());
        match indexes.iter().find(|index| self.state.operations[**index].method == method) {
            Some(index) => self.operate(*index, exchange, request).await,
            None => self.no_method(indexes, exchange, &request),
        }
    }

    /// Answers a request whose path no operation has: with a page, or a problem.
    fn no_route(&self, exchange: &Exchange, request: &Request) -> Response {
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        let page = self.state.pages.own(request.uri().path()).filter(|_| is_read);
        let answer = match page {
            Some(page) => Ok(page.reply(request.headers())),
            None => Err(self.unserved(request).into()),
        };
        respond(answer, exchange, LogFields::default())
    }

    fn unserved(&self, request: &Request) -> Problem {
        match uri::segments(request.uri().path()) {
            Ok(segments) => {
                let method = without_head(request.method());
                self.directory.no_path(&self.state.operations, method, &segments)
            }
            Err(problem) => problem,
        }
    }

    /// Answers a request whose path operations have, but not with its method.
    fn no_method(&self, indexes: &[usize], exchange: &Exchange, request: &Request) -> Response {
        let methods = indexes.iter().map(|index| &self.state.operations[*index].method);
        let methods: Vec<&Method> = methods.collect();
        let problem = match uri::segments(request.uri().path()) {
            Ok(segments) => self.directory.no_method(&segments, request.method(), &methods),
            Err(problem) => problem,
        };
        let answer = match (request.method() == Method::OPTIONS, problem.allow()) {
            (true, Some(methods)) => Ok(Reply::empty(StatusCode::NO_CONTENT).with(ALLOW, methods)),
            _ => Err(problem.into()),
        };
        respond(answer, exchange, LogFields::default())
    }
}

/// `GET` for `HEAD`: it is answered in the same way.
fn without_head(method: &Method) -> &Method {
    if method == Method::HEAD { &Method::GET } else { method }
}
