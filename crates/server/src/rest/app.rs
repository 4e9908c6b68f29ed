//! A model as an app of a server.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::MethodFilter;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::http::Extensions;
use keyloom::Db;
use keyloom_store::Engine;
use serde_json::Value as Json;
use tokio::sync::watch;
use tower::ServiceExt as _;

use super::access::{Caller, Owner};
use super::call::{Call, JSON};
use super::greeting::greeting;
use super::metrics::{BacklogMetrics, OperationMetrics};
use super::news::News;
use super::operation::{Access, Action, Operation, Segment, operations, tell};
use super::own_route::OwnRoute;
use super::pages::{OwnPage, Pages};
use super::problem::Problem;
use super::readiness::Readiness;
use super::route::Route;
use super::routing::{pattern, router};
use super::service::{RestService, respond};
use super::tokens::Tokens;
use super::unserved::Directory;
use super::{bulk, explain};
use crate::App;
use crate::app::Face;
use crate::http::edge::Origin;
use crate::http::metrics::Metrics;
use crate::http::observe::Told;
use crate::http::refusal::Refusal;
use crate::http::request_id::RequestIds;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How a model is served.
#[derive(Clone, Debug)]
pub struct RestOptions {
    /// What the service is called in its documentation.
    pub name: String,
    /// Pages for anybody to see.
    pub pages: Vec<OwnPage>,
    /// Operations on entities that are not served, by their names, such as `change_search`: what
    /// they would do, the application's own routes and handlers do by their rules.
    pub closed: &'static [&'static str],
    /// The engine under the database, whose figures are among the metrics.
    pub engine: Option<Arc<Engine>>,
}

impl Default for RestOptions {
    fn default() -> RestOptions {
        RestOptions { name: "keyloom".to_owned(), pages: vec![], closed: &[], engine: None }
    }
}

/// A database over HTTP: every operation of its model as REST.
#[derive(Debug)]
pub struct Rest {
    service: Arc<RestService>,
}

impl Rest {
    /// Serves a database to whoever has one of the tokens, with the routes of an application
    /// beside those of the model.
    ///
    /// # Errors
    ///
    /// If a route of the application is not a method and a path that begins with a word, has the
    /// place or the name of another one, or its answer is no JSON Schema; if a page has the place
    /// of a route; or if there is no operation of a name that is to be closed.
    pub fn new(
        db: Db,
        tokens: impl Into<Arc<Tokens>>,
        own: Vec<OwnRoute>,
        mut options: RestOptions,
    ) -> Result<Rest, String> {
        let model = db.model();
        let mut operations = operations(&model);
        close(&mut operations, options.closed)?;
        tell(&mut operations, &model);
        for (index, route) in own.iter().enumerate() {
            let operation = own_operation(index, route)?;
            let is_taken = |other: &Operation| {
                other.name == operation.name
                    || (other.method == operation.method
                        && pattern(&other.path) == pattern(&operation.path))
            };
            if operations.iter().any(is_taken) {
                return Err(format!("The route {route:?} has the name or place of another."));
            }
            operations.push(operation);
        }
        let pages = Pages::new(&options.name, &model, &own, &operations, &options.pages)?;
        let is_taken = |page: &&OwnPage| operations.iter().any(|other| other.is_at(&page.path));
        if let Some(page) = options.pages.iter().find(is_taken) {
            return Err(format!("The page `{}` has the place of a route.", page.path));
        }
        let (backlog, under_way) = (BacklogMetrics::default(), OperationMetrics::default());
        // Not kept: whoever closes the engine must be the last who has it.
        let engine = options.engine.take();
        let service = RestService {
            names: operations.iter().map(|operation| operation.name.as_str().into()).collect(),
            directory: Directory::new(&operations, &model),
            readiness: Readiness::new(engine.as_ref()),
            metrics: Metrics::new(engine.as_ref(), |registry| {
                backlog.register(registry);
                under_way.register(registry);
            }),
            backlog,
            under_way,
            request_ids: RequestIds::new(),
            is_stopped: watch::Sender::new(false),
            news: Arc::new(News::new(db.clone())),
            db,
            model,
            tokens: tokens.into(),
            options,
            own,
            operations,
            pages,
        };
        Ok(Rest { service: Arc::new(service) })
    }

    /// What to try first, as a shell takes it; `URL` stands for the server's.
    pub fn greeting(&self) -> String {
        let RestService { model, operations, tokens, .. } = &*self.service;
        greeting(model, operations, tokens.is_open())
    }

    /// Every operation, in the order of the model, those of the server itself last.
    pub fn routes(&self) -> Vec<Route> {
        let route = |operation| Route::of(operation, &self.service.model);
        self.service.operations.iter().map(route).collect()
    }

    /// What a `GET` request costs, as JSON; or why it is refused. Whoever runs the server may know.
    ///
    /// # Errors
    ///
    /// If the request is none that can be explained, or is refused.
    pub async fn explain(&self, request: &str, tenant: Option<&str>) -> Result<String, String> {
        let (path, query) = request.split_once('?').unwrap_or((request, ""));
        let (path, wish) = (path.trim_start_matches('/'), format!("{}=true", explain::EXPLAIN));
        let parts = query.split('&').filter(|part| !part.is_empty() && *part != wish);
        let query: Vec<&str> = parts.chain([wish.as_str()]).collect();
        let uri = format!("/{path}?{}", query.join("&"));
        let mut request = Request::new(Body::empty());
        *request.uri_mut() =
            uri.parse().map_err(|error| format!("`{uri}` is no path: {error}."))?;
        request.extensions_mut().insert(Owner { tenant: tenant.map(str::to_owned) });
        let Ok(response) = router(self.service.clone()).oneshot(request).await;
        let is_done = response.status().is_success();
        // What is wrong inside is no secret here.
        let cause = response.extensions().get::<Told>().and_then(|told| told.cause.clone());
        let body = collect(response).await;
        let body: Json = serde_json::from_slice(&body).unwrap_or_default();
        match (is_done, &body[explain::EXPLAIN], body["detail"].as_str()) {
            (true, Json::Null, _) => {
                Err(format!("`/{path}` reads no data: there is nothing to explain."))
            }
            (true, explained, _) => Ok(explained.to_string()),
            (false, _, detail) => {
                Err(cause.unwrap_or_else(|| detail.unwrap_or_default().to_owned()))
            }
        }
    }

    /// What a change would cost, as JSON: `{"create": ENTITY, "document": {...}}`, as a part of a
    /// transaction. Nothing is changed.
    ///
    /// # Errors
    ///
    /// If it is no such change, or is refused.
    pub async fn explain_change(
        &self,
        change: &str,
        tenant: Option<&str>,
    ) -> Result<String, String> {
        let (service, caller) = (&self.service, Caller::owner(tenant));
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let call = Call {
            db: caller.db(&service.db, &service.model),
            caller,
            method: Method::POST,
            values: vec![],
            parameters: vec![(explain::EXPLAIN.to_owned(), "true".to_owned())],
            headers,
            body: Bytes::from(format!("{{\"changes\":[{change}]}}")),
            closed: &[],
            origin: Origin::of(&Extensions::new()),
        };
        let told = bulk::transaction(&call, &service.model).await;
        let told =
            told.map_err(|problem| problem.cause().unwrap_or_else(|| problem.detail()).to_owned())?;
        Ok(String::from_utf8_lossy(&told.body).into_owned())
    }
}

impl From<Rest> for App {
    fn from(rest: Rest) -> App {
        App { router: router(rest.service.clone()), face: rest.service }
    }
}

impl Face for RestService {
    fn is_open(&self) -> bool {
        self.tokens.is_open()
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The id that a client gave its request, or a new one.
    fn request_id(&self, headers: &HeaderMap) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
        let given = given.filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(is_plain));
        given.map_or_else(|| self.request_ids.next(), str::to_owned)
    }

    fn request_id_header(&self) -> HeaderName {
        REQUEST_ID
    }

    fn refuse(&self, refusal: Refusal, request_id: &str) -> Response {
        let problem = Problem::from(refusal);
        respond(Err(problem.into()), request_id, Told::default())
    }

    /// What stands for a parameter where anybody is let in may be the secret that lets them in,
    /// whatever the method and whether there is such a path.
    fn shown_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let is_secret = self.operations.iter().any(|operation| {
            operation.access() == Access::Anybody
                && operation.path.len() > 1
                && matches!(&operation.path[0], Segment::Text(text) if text == first)
        });
        if is_secret { Cow::Owned(format!("/{first}/…")) } else { Cow::Borrowed(path) }
    }

    fn stop(&self) {
        self.is_stopped.send_replace(true);
    }
}

/// Takes operations on entities away.
fn close(operations: &mut Vec<Operation>, closed: &[&str]) -> Result<(), String> {
    for name in closed {
        let place = operations.iter().position(|operation| operation.name == *name);
        let place = place.filter(|place| operations[*place].action.entity().is_some());
        let place = place.ok_or_else(|| format!("There is no operation `{name}` to close."))?;
        operations.remove(place);
    }
    Ok(())
}

fn own_operation(index: usize, route: &OwnRoute) -> Result<Operation, String> {
    let method = Method::from_bytes(route.method.as_bytes())
        .ok()
        .filter(|method| MethodFilter::try_from(method.clone()).is_ok())
        .ok_or_else(|| format!("The route {route:?} has no method."))?;
    let segment = |text: &str| {
        let parameter = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        match parameter {
            Some(name) => Segment::Parameter(name.to_owned()),
            None => Segment::Text(text.to_owned()),
        }
    };
    let path: Vec<Segment> = route.path.trim_start_matches('/').split('/').map(segment).collect();
    match path.first() {
        Some(Segment::Text(first)) if !first.is_empty() => {
            let action = Action::Own(index, route.role.map_or(Access::Anybody, Access::Role));
            Ok(Operation { name: route.name.to_owned(), method, path, action })
        }
        _ => Err(format!("The path of the route {route:?} does not begin with a word.")),
    }
}

async fn collect(response: Response) -> Bytes {
    let collected = response.into_body().collect().await;
    collected.map(|body| body.to_bytes()).unwrap_or_default()
}
