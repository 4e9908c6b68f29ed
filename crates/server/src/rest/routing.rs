//! The axum routes of a model: from a method and a path to an operation.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use hyper::header::ALLOW;
use hyper::{Method, StatusCode};

use super::call::Reply;
use super::operation::Operation;
use super::problem::Problem;
use super::segment::Segment;
use super::service::{RestService, respond};
use super::uri;
use crate::http::edge::Origin;
use crate::http::observe::LogFields;

/// The routes of all operations.
pub(super) fn router(service: Arc<RestService>) -> Router {
    let mut routes: BTreeMap<String, MethodRouter> = BTreeMap::new();
    for (index, operation) in service.operations.iter().enumerate() {
        // Methods that axum does not know are refused by `Rest::new`.
        let Ok(method) = MethodFilter::try_from(operation.method.clone()) else { continue };
        let service = service.clone();
        let operate = move |request: Request| service.clone().operate(index, request);
        let route = routes.remove(&pattern(&operation.path)).unwrap_or_default();
        routes.insert(pattern(&operation.path), route.on(method, operate));
    }
    let router =
        routes.into_iter().fold(Router::new(), |router, (path, route)| router.route(&path, route));
    let (elsewhere, otherwise) = (service.clone(), service);
    router
        .fallback(move |request| no_route(elsewhere.clone(), request))
        .method_not_allowed_fallback(move |request| no_method(otherwise.clone(), request))
}

/// The axum pattern of a path. It does not contain the names of parameters: two operations of one path may
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

/// Answers a request whose path no operation has: with a page, or a problem.
async fn no_route(service: Arc<RestService>, request: Request) -> Response {
    let (id, method) = (Origin::of(request.extensions()).request_id, request.method());
    let is_read = [Method::GET, Method::HEAD].contains(method);
    let page = service.state.pages.own(request.uri().path()).filter(|_| is_read);
    let answer = match page {
        Some(page) => Ok(page.reply(request.headers())),
        None => Err(unserved(&service, &request).into()),
    };
    respond(answer, &id, LogFields::default())
}

fn unserved(service: &RestService, request: &Request) -> Problem {
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    match uri::segments(request.uri().path()) {
        Ok(segments) => service.directory.no_path(&service.operations, method, &segments),
        Err(problem) => problem,
    }
}

/// Answers a request whose path operations have, but not with its method.
async fn no_method(service: Arc<RestService>, request: Request) -> Response {
    let (id, method) = (Origin::of(request.extensions()).request_id, request.method());
    let path = request.extensions().get::<MatchedPath>();
    let is_meant =
        |operation: &&Operation| path.is_some_and(|path| path.as_str() == pattern(&operation.path));
    let methods = service.operations.iter().filter(is_meant).map(|operation| &operation.method);
    let methods: Vec<&Method> = methods.collect();
    let problem = match uri::segments(request.uri().path()) {
        Ok(segments) => service.directory.no_method(&segments, method, &methods),
        Err(problem) => problem,
    };
    let answer = match (method == Method::OPTIONS, problem.allow()) {
        (true, Some(methods)) => Ok(Reply::empty(StatusCode::NO_CONTENT).with(ALLOW, methods)),
        _ => Err(problem.into()),
    };
    respond(answer, &id, LogFields::default())
}
