//! A model as an app of a server.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
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
use super::explain;
use super::greeting::greeting;
use super::metrics::Measurements;
use super::news::News;
use super::operation::{Access, Action as _, Operation, Segment};
use super::operations::{self, Transaction};
use super::own_route::OwnRoute;
use super::pages::{OwnPage, Pages};
use super::problem::Problem;
use super::readiness::Readiness;
use super::route::Route;
use super::routing::{pattern, router};
use super::service::{RestService, respond};
use super::state::State;
use super::tokens::Tokens;
use super::unserved::Directory;

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
        let mut operations = operations::all(&model, options.closed)?;
        for route in own {
            let shown = format!("{route:?}");
            let operation = operations::own(route)?;
            let is_taken = |other: &Operation| {
                other.name == operation.name
                    || (other.method == operation.method
                        && pattern(&other.path) == pattern(&operation.path))
            };
            if operations.iter().any(is_taken) {
                return Err(format!("The route {shown} has the name or place of another."));
            }
            operations.push(operation);
        }
        let is_taken = |page: &&OwnPage| operations.iter().any(|other| other.is_at(&page.path));
        if let Some(page) = options.pages.iter().find(is_taken) {
            return Err(format!("The page `{}` has the place of a route.", page.path));
        }
        // Not kept: whoever closes the engine must be the last who has it.
        let engine = options.engine.take();
        let state = State {
            pages: Pages::new(&options.name, &model, &operations, &options.pages),
            readiness: Readiness::new(engine.as_ref()),
            measurements: Measurements::new(db.clone(), engine.as_ref()),
            is_stopped: watch::Sender::new(false),
            news: Arc::new(News::new(db.clone())),
            model,
            tokens: tokens.into(),
        };
        let service = RestService {
            names: operations.iter().map(|operation| operation.name.as_str().into()).collect(),
            directory: Directory::new(&operations, &state.model),
            request_ids: RequestIds::new(),
            db,
            state,
            options,
            operations,
        };
        Ok(Rest { service: Arc::new(service) })
    }

    /// What to try first, as a shell takes it; `URL` stands for the server's.
    pub fn greeting(&self) -> String {
        let RestService { state, operations, .. } = &*self.service;
        greeting(&state.model, operations, state.tokens.is_open())
    }

    /// Every operation, in the order of the model, those of the server itself last.
    pub fn routes(&self) -> Vec<Route> {
        let route = |operation| Route::of(operation, &self.service.state.model);
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
        let (state, caller) = (&self.service.state, Caller::owner(tenant));
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let call = Call {
            db: caller.db(&self.service.db, &state.model),
            caller,
            method: Method::POST,
            values: vec![],
            parameters: vec![(explain::EXPLAIN.to_owned(), "true".to_owned())],
            headers,
            body: Bytes::from(format!("{{\"changes\":[{change}]}}")),
            closed: &[],
            origin: Origin::of(&Extensions::new()),
            request_id: "".into(),
        };
        let told = Transaction.run(state, &call).await;
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
        self.state.tokens.is_open()
    }

    fn metrics(&self) -> &Metrics {
        &self.state.measurements.http
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
        self.state.is_stopped.send_replace(true);
    }
}

async fn collect(response: Response) -> Bytes {
    let collected = response.into_body().collect().await;
    collected.map(|body| body.to_bytes()).unwrap_or_default()
}
