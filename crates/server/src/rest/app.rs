//! The app that serves a model.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use keyloom::Db;
use keyloom_dynamodb::Consumption;
use keyloom_model::Model;
use keyloom_store::Engine;
use serde_json::Value as Json;
use tokio::sync::watch;

use super::access::OperatorRequest;
use super::backups::Backups;
use super::call::{Call, JSON};
use super::caller::Caller;
use super::change_signal::ChangeSignal;
use super::current::Current;
use super::docs;
use super::explain;
use super::greeting::greeting;
use super::live::LiveQueries;
use super::metrics::Measurements;
use super::openapi::{describe, document};
use super::operation::{Access, Action as _, Operation};
use super::operations::{self, Transaction};
use super::options::RestOptions;
use super::own_route::OwnRoute;
use super::pages::{OwnPage, Pages, Rendered};
use super::problem::Problem;
use super::route::Route;
use super::routing::{Routes, pattern};
use super::segment::Segment;
use super::service::{REQUEST_ID, RestService, problem_reply, response};
use super::state::State;
use super::tokens::Tokens;
use super::unit_metrics::UnitMetrics;
use super::unserved::Directory;

use crate::App;
use crate::http::edge::Origin;
use crate::http::exchange::Exchange;
use crate::http::metrics::Metrics;
use crate::http::refusal::Refusal;
use crate::http::request_id::RequestIds;
use crate::readiness::Readiness;

/// A database over HTTP: all operations of its model as REST.
#[derive(Debug)]
pub struct Rest {
    service: Arc<RestService>,
    /// What is served once it is an [`App`].
    current: Arc<Current>,
}

impl Rest {
    /// Serves a database to callers with a token, with the routes of an application in addition to those
    /// of the model.
    ///
    /// # Errors
    ///
    /// If a route of the application has an invalid method or path, the path or the name of another
    /// route, or a schema that is not JSON; if a page has the path of a route; or if a closed operation
    /// does not exist.
    pub fn new(
        db: Db,
        tokens: impl Into<Arc<Tokens>>,
        own: Vec<OwnRoute>,
        options: RestOptions,
    ) -> Result<Rest, String> {
        let service = Arc::new(RestService::new(db, tokens.into(), (own, options), None)?);
        Ok(Rest { current: Arc::new(Current::new(service.clone())), service })
    }

    /// Checks that a model can be served, without these operations: [`Rest::new`] refuses it otherwise, when
    /// the database has it already.
    ///
    /// # Errors
    ///
    /// If two operations have one path; if a closed operation does not exist.
    pub fn check(model: &Model, closed: &[&str]) -> Result<(), String> {
        Routes::new(&operations::all(model, closed)?).map(drop)
    }

    /// Returns a function that serves the model that the database has now, also while a server runs, with
    /// these routes and options. Requests in progress are finished as they began; streams end, so that their
    /// clients connect again. Metrics go on; the consumption of operations that are new is not among them.
    ///
    /// The function fails as [`Rest::new`] does, and then changes nothing.
    pub fn reload(
        &self,
    ) -> impl Fn(Vec<OwnRoute>, RestOptions) -> Result<(), String> + Send + Sync + use<> {
        let current = self.current.clone();
        move |own, options| {
            let first = current.first();
            let tokens = first.state.tokens.clone();
            let parts = (own, options);
            let service = RestService::new(first.db.clone(), tokens, parts, Some(&first.state))?;
            current.replace(service);
            Ok(())
        }
    }

    /// Example requests for a shell. `URL` is a placeholder for the URL of the server.
    pub fn greeting(&self) -> String {
        let state = &self.service.state;
        greeting(&state.model, &state.operations, state.tokens.is_open())
    }

    /// The OpenAPI document of a model that nothing else is served with, as `/openapi.json` has it.
    ///
    /// # Errors
    ///
    /// None at present: only closing an operation that does not exist is one.
    pub fn openapi(name: &str, model: &Model) -> Result<String, String> {
        Ok(rendered(name, model, &operations::all(model, &[])?).openapi)
    }

    /// All operations, in the order of the model, then those of the server itself.
    pub fn routes(&self) -> Vec<Route> {
        let route = |operation| Route::of(operation, &self.service.state.model);
        self.service.state.operations.iter().map(route).collect()
    }

    /// Explains what a `GET` request costs, as JSON. Needs no token: for the operator of the server.
    ///
    /// # Errors
    ///
    /// If the request cannot be explained, or is refused.
    pub async fn explain(&self, request: &str, tenant: Option<&str>) -> Result<String, String> {
        let (path, query) = request.split_once('?').unwrap_or((request, ""));
        let (path, wish) = (path.trim_start_matches('/'), format!("{}=true", explain::EXPLAIN));
        let parts = query.split('&').filter(|part| !part.is_empty() && *part != wish);
        let query: Vec<&str> = parts.chain([wish.as_str()]).collect();
        let uri = format!("/{path}?{}", query.join("&"));
        let mut request = Request::new(Body::empty());
        *request.uri_mut() =
            uri.parse().map_err(|error| format!("Invalid path `{uri}`: {error}."))?;
        request.extensions_mut().insert(OperatorRequest { tenant: tenant.map(str::to_owned) });
        let exchange = Arc::new(exchange_of_operator());
        let response = self.service.route(&exchange, request).await;
        let is_done = response.status().is_success();
        // The operator may see internal causes.
        let cause = exchange.take_noted().and_then(|fields| fields.cause);
        let body = collect(response).await;
        let body: Json = serde_json::from_slice(&body).unwrap_or_default();
        match (is_done, &body[explain::EXPLAIN], body["detail"].as_str()) {
            (true, Json::Null, _) => {
                Err(format!("`/{path}` reads no data, so there is nothing to explain."))
            }
            (true, explained, _) => Ok(explained.to_string()),
            (false, _, detail) => {
                Err(cause.unwrap_or_else(|| detail.unwrap_or_default().to_owned()))
            }
        }
    }

    /// Explains what a change would cost, as JSON, without applying it. The change has the form of a part
    /// of a transaction: `{"create": ENTITY, "document": {...}}`.
    ///
    /// # Errors
    ///
    /// If the change is malformed or refused.
    pub async fn explain_change(
        &self,
        change: &str,
        tenant: Option<&str>,
    ) -> Result<String, String> {
        let (state, caller) = (&self.service.state, Caller::operator(tenant));
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let call = Call {
            db: caller.db(&self.service.db, &state.model),
            caller,
            method: Method::POST,
            values: vec![],
            parameters: vec![(explain::EXPLAIN.to_owned(), "true".to_owned())],
            hidden: vec![],
            headers,
            body: Bytes::from(format!("{{\"changes\":[{change}]}}")),
            closed: &[],
            exchange: Arc::new(exchange_of_operator()),
        };
        let reply = Transaction.run(state, &call).await;
        let reply = reply
            .map_err(|problem| problem.cause().unwrap_or_else(|| problem.detail()).to_owned())?;
        Ok(String::from_utf8_lossy(&reply.body).into_owned())
    }
}

impl RestService {
    /// The service of the model that a database has, with the metrics of an earlier one.
    fn new(
        db: Db,
        tokens: Arc<Tokens>,
        (own, mut options): (Vec<OwnRoute>, RestOptions),
        earlier: Option<&State>,
    ) -> Result<RestService, String> {
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
                return Err(format!("The route {shown} has the name or path of another route."));
            }
            operations.push(operation);
        }
        let is_taken = |page: &&OwnPage| operations.iter().any(|other| other.is_at(&page.path));
        if let Some(page) = options.pages.iter().find(is_taken) {
            return Err(format!("The page `{}` has the path of a route.", page.path));
        }
        // Not kept: the engine can be closed only by its last owner.
        let engine = options.engine.take();
        let names: Vec<Arc<str>> =
            operations.iter().map(|operation| operation.name.as_str().into()).collect();
        let consumed: Vec<Arc<Consumption>> = names.iter().map(|_| Arc::default()).collect();
        let units = options.consumption.take().map(|total| {
            let operations = names.iter().cloned().zip(consumed.iter().cloned());
            UnitMetrics::new(total, operations.collect())
        });
        let measured = match earlier {
            Some(earlier) => earlier.measurements.clone(),
            None => Arc::new(Measurements::new(db.clone(), engine.as_ref(), units)),
        };
        let is_stopped = earlier.map(|earlier| earlier.is_stopped.clone());
        let state = State {
            pages: Pages::new(
                &options.name,
                rendered(&options.name, &model, &operations),
                &options.pages,
            ),
            backups: backups_of(&mut options, engine.as_ref(), earlier),
            readiness: Readiness::new(engine.as_ref()),
            measurements: measured,
            is_stopped: is_stopped.unwrap_or_else(|| Arc::new(watch::Sender::new(false))),
            is_over: watch::Sender::new(false),
            change_signal: Arc::new(ChangeSignal::new(db.clone())),
            model,
            operations,
            tokens,
        };
        Ok(RestService {
            routes: Routes::new(&state.operations)?,
            names,
            consumed,
            directory: Directory::new(&state.operations, &state.model),
            request_ids: RequestIds::new(),
            live: LiveQueries::new(state.measurements.live_queries.clone()),
            db,
            state,
            options,
        })
    }
}

impl From<Rest> for App {
    fn from(rest: Rest) -> App {
        App(rest.current)
    }
}

impl RestService {
    pub(super) fn is_open(&self) -> bool {
        self.state.tokens.is_open()
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.state.measurements.http
    }

    /// The id that the client chose, or a new one.
    pub(super) fn request_id(&self, headers: &HeaderMap) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
        let given = given.filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(is_plain));
        given.map_or_else(|| self.request_ids.next(), str::to_owned)
    }

    pub(super) fn refuse(
        &self,
        refusal: Refusal,
        request_id: &str,
    ) -> (Response, Option<&'static str>) {
        let reply = problem_reply(&Problem::from(refusal), request_id);
        let code = reply.code;
        (response(reply), code)
    }

    /// A parameter in the path of a public operation may be a secret that grants access. The rest of the
    /// path is cut, whatever the method and whether it matches an operation.
    pub(super) fn log_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let is_secret = self.state.operations.iter().any(|operation| {
            operation.access() == Access::Public
                && operation.path.len() > 1
                && matches!(&operation.path[0], Segment::Text(text) if text == first)
        });
        if is_secret { Cow::Owned(format!("/{first}/…")) } else { Cow::Borrowed(path) }
    }

    /// Whether the database has another model by now than the one that this serves.
    pub(super) fn is_outdated(&self) -> bool {
        self.db.model() != self.state.model
    }
}

/// The backups of a service: those of an earlier one go on.
fn backups_of(
    options: &mut RestOptions,
    engine: Option<&Arc<Engine>>,
    earlier: Option<&State>,
) -> Option<Arc<Backups>> {
    match earlier {
        Some(earlier) => earlier.backups.clone(),
        None => {
            let folder = options.backup_folder.take()?;
            engine.map(|engine| Arc::new(Backups::new(engine, folder)))
        }
    }
}

/// Renders the pages of a service with a name.
fn rendered(name: &str, model: &Model, operations: &[Operation]) -> Rendered {
    let described = describe(model, operations);
    Rendered {
        openapi: format!("{:#}\n", document(name, model, &described)),
        docs: docs::page(name, model, &described),
        welcome: docs::welcome(name, model, &described),
    }
}

/// What the operator does needs no request id.
fn exchange_of_operator() -> Exchange {
    Exchange::new(Arc::new(Origin::operator()), String::new())
}

async fn collect(response: Response) -> Bytes {
    let collected = response.into_body().collect().await;
    collected.map(|body| body.to_bytes()).unwrap_or_default()
}
