//! From an HTTP request to an operation and back: who is asking, what they may, how long it took.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{ALLOW, RETRY_AFTER, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use hyper::{Method, Request, Response, StatusCode};
use keyloom::{Clock, Db, SystemClock};
use keyloom_model::Model;
use tokio::sync::watch;
use tokio::time::timeout;

use super::access::{self, Caller};
use super::call::{Call, JSON, Reply};
use super::greeting::greeting;
use super::log::{Entry, Log, LogLevel};
use super::metrics::{Metrics, backlog_text};
use super::operation::{Access, Action, Operation, Segment, operations};
use super::own_route::{OwnRequest, OwnRoute, OwnShape};
use super::pages::{OwnPage, Pages};
use super::problem::{Kind, Problem};
use super::route::Route;
use super::router::Router;
use super::tokens::Tokens;
use super::{bulk, changes, count, entity, explain, jobs, list, token_routes, uri, values};
use crate::App;
use crate::app::{Answer, Refusal, Service};
use crate::body::Body;
use crate::fair::{Pool, Weight};
use crate::gzip::{Gzip, compressed};
use crate::request_id::RequestIds;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How a model is served.
#[derive(Clone, Debug)]
pub struct RestOptions {
    /// What the service is called in its documentation.
    pub name: String,
    /// What time it is, for the log.
    pub clock: Arc<dyn Clock>,
    /// Where requests are told of.
    pub log: Log,
    /// How long an answer may take.
    pub answer_time: Duration,
    /// Pages for anybody to see.
    pub pages: Vec<OwnPage>,
    /// Operations on entities that are not served, by their names, such as `change_search`: what
    /// they would do, the application's own routes and handlers do by their rules.
    pub closed: &'static [&'static str],
}

impl Default for RestOptions {
    fn default() -> RestOptions {
        RestOptions {
            name: "keyloom".to_owned(),
            clock: Arc::new(SystemClock),
            log: Log { level: LogLevel::Nothing, write: Arc::new(|_| {}) },
            answer_time: Duration::from_secs(30),
            pages: vec![],
            closed: &[],
        }
    }
}

/// A database over HTTP: every operation of its model as REST.
#[derive(Debug)]
pub struct Rest {
    db: Db,
    model: Model,
    tokens: Tokens,
    options: RestOptions,
    own: Vec<OwnRoute>,
    router: Router,
    pages: Pages,
    metrics: Metrics,
    request_ids: RequestIds,
    pool: Pool,
    is_stopped: watch::Sender<bool>,
}

/// What became of a request, for those who keep count.
#[derive(Debug, Default)]
struct Trail {
    operation: Option<usize>,
    caller: Option<Caller>,
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
        tokens: Tokens,
        own: Vec<OwnRoute>,
        options: RestOptions,
    ) -> Result<Rest, String> {
        let model = db.model();
        let mut operations = operations(&model);
        close(&mut operations, options.closed)?;
        for (index, route) in own.iter().enumerate() {
            let operation = own_operation(index, route)?;
            let is_taken = |other: &Operation| {
                other.name == operation.name
                    || (other.method == operation.method && other.path == operation.path)
            };
            if operations.iter().any(is_taken) {
                return Err(format!("The route {route:?} has the name or place of another."));
            }
            operations.push(operation);
        }
        let pages = Pages::new(&options.name, &model, &own, &operations, &options.pages)?;
        let metrics = Metrics::new(operations.iter().map(|operation| operation.name.clone()));
        let (router, request_ids) = (Router::new(operations, &model), RequestIds::new());
        let is_taken = |page: &&OwnPage| {
            let segments = uri::segments(&page.path);
            segments.is_ok_and(|segments| router.find(&Method::GET, &segments).is_ok())
        };
        if let Some(page) = options.pages.iter().find(is_taken) {
            return Err(format!("The page `{}` has the place of a route.", page.path));
        }
        let is_stopped = watch::Sender::new(false);
        Ok(Rest {
            db,
            model,
            tokens,
            options,
            own,
            router,
            pages,
            metrics,
            request_ids,
            pool: Pool::default(),
            is_stopped,
        })
    }

    /// What to try first, as a shell takes it; `URL` stands for the server's.
    pub fn greeting(&self) -> String {
        greeting(&self.model, self.router.operations(), self.tokens.is_open())
    }

    /// Every operation, in the order of the model, those of the server itself last.
    pub fn routes(&self) -> Vec<Route> {
        let route = |operation| Route::of(operation, &self.model);
        self.router.operations().iter().map(route).collect()
    }

    async fn reply(
        self: &Arc<Self>,
        request: Request<Bytes>,
        id: &str,
        trail: &mut Trail,
    ) -> Reply {
        let answer = timeout(self.options.answer_time, self.serve(request, id, trail)).await;
        let problem = match answer {
            Ok(Ok(reply)) => return reply,
            Ok(Err(problem)) => problem,
            Err(_) => {
                let detail = "The answer took too long, and the server gave up. A change has \
                              happened as a whole or not at all: read before you try again.";
                Problem::new(Kind::Overdue, detail)
            }
        };
        problem_reply(&problem, id)
    }

    async fn serve(
        self: &Arc<Self>,
        request: Request<Bytes>,
        id: &str,
        trail: &mut Trail,
    ) -> Result<Reply, Problem> {
        let (head, body) = request.into_parts();
        if [Method::GET, Method::HEAD].contains(&head.method)
            && let Some(page) = self.pages.own(head.uri.path())
        {
            return Ok(page.reply(&head.headers));
        }
        let segments = uri::segments(head.uri.path())?;
        let found = self.router.find(&head.method, &segments)?;
        trail.operation = Some(found.index);
        let caller = match found.operation.access() {
            Access::Anybody => None,
            Access::Role(_) => Some(access::identify(&self.tokens, &head.headers).await?),
        };
        let parameters = uri::parameters(head.uri.query().unwrap_or_default())?;
        let Some(caller) = caller else {
            let Action::Own(index, _) = found.operation.action else {
                return Ok(self.say(found.operation, &head.headers));
            };
            let (db, values) = (self.db.clone(), found.values);
            let headers = texts(&head.headers);
            let request = OwnRequest { db, values, parameters, headers, body: body.to_vec() };
            let (rest, weight) = (Arc::clone(self), Weight::of_body(request.body.len()));
            let reply = async move { rest.own_reply(request, index).await };
            return self.pool.run(weight, reply).await;
        };
        trail.caller = Some(caller.clone());
        caller.check(found.operation, &self.model)?;
        let mut call = Call {
            db: caller.db(&self.db, &self.model),
            caller,
            method: head.method,
            values: found.values,
            parameters,
            headers: head.headers,
            body,
            closed: self.options.closed,
        };
        // From here on it may take long: it takes turns with others.
        let (rest, id, weight) =
            (Arc::clone(self), id.to_owned(), Weight::of_body(call.body.len()));
        let reply = async move {
            let action = &rest.router.operations()[found.index].action;
            rest.explained(&mut call, action, &id).await
        };
        self.pool.run(weight, reply).await
    }

    /// Acts, and tells what it cost if that was asked for.
    async fn explained(
        &self,
        call: &mut Call,
        action: &Action,
        id: &str,
    ) -> Result<Reply, Problem> {
        let watch = if action.is_explained() { explain::watch(call)? } else { None };
        let reply = self.act(call, action, id).await?;
        Ok(match watch {
            Some(explained) => explain::tell(reply, &explained),
            None => reply,
        })
    }

    /// What a `GET` request costs, as JSON; or why it is refused. Whoever runs the server may know.
    ///
    /// # Errors
    ///
    /// If the request is none that can be explained, or is refused.
    pub async fn explain(&self, request: &str, tenant: Option<&str>) -> Result<String, String> {
        let (path, query) = request.split_once('?').unwrap_or((request, ""));
        let refuse = |problem: Problem| problem.detail().to_owned();
        let segments = uri::segments(path).map_err(refuse)?;
        let found = self.router.find(&Method::GET, &segments).map_err(refuse)?;
        if !found.operation.action.is_explained() {
            return Err(format!("`{path}` reads no data: there is nothing to explain."));
        }
        let caller = Caller::owner(tenant);
        let mut call = Call {
            db: caller.db(&self.db, &self.model),
            caller,
            method: Method::GET,
            values: found.values,
            parameters: uri::parameters(query).map_err(refuse)?,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            closed: self.options.closed,
        };
        call.parameters.retain(|(name, _)| name != explain::EXPLAIN);
        let (db, explained) = call.db.explained();
        call.db = db;
        self.act(&call, &found.operation.action, "").await.map_err(refuse)?;
        Ok(explain::cost(&explained).to_string())
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
        let caller = Caller::owner(tenant);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let call = Call {
            db: caller.db(&self.db, &self.model),
            caller,
            method: Method::POST,
            values: vec![],
            parameters: vec![(explain::EXPLAIN.to_owned(), "true".to_owned())],
            headers,
            body: Bytes::from(format!("{{\"changes\":[{change}]}}")),
            closed: &[],
        };
        let told = bulk::transaction(&call, &self.model).await;
        let told = told.map_err(|problem| problem.detail().to_owned())?;
        Ok(String::from_utf8_lossy(&told.body).into_owned())
    }

    /// What anybody may know.
    fn say(&self, operation: &Operation, asked: &HeaderMap) -> Reply {
        match operation.action {
            Action::OpenApi => self.pages.openapi.reply(asked),
            Action::Docs => self.pages.docs.reply(asked),
            _ => Reply::json(StatusCode::OK, r#"{"status":"ok"}"#),
        }
    }

    async fn act(&self, call: &Call, action: &Action, id: &str) -> Result<Reply, Problem> {
        let model = &self.model;
        match action {
            Action::Create(entity) => entity::create(call, model.entity(*entity)).await,
            Action::Read(entity) => entity::read(call, model.entity(*entity)).await,
            Action::Replace(entity) => entity::replace(call, model.entity(*entity)).await,
            Action::Change(entity) => entity::change(call, model.entity(*entity)).await,
            Action::Delete(entity) => entity::delete(call, model.entity(*entity)).await,
            Action::Children { parent, child } => {
                list::children(call, model.entity(*parent), model.entity(*child)).await
            }
            Action::Ask(asked) => list::ask(call, model, asked).await,
            Action::Values(asked, of) => values::count(call, model, (asked, *of)).await,
            Action::Count(id, count, in_path) => {
                let entity = model.entity(*id);
                count::count((call, model), (entity, entity.count(*count)), in_path).await
            }
            Action::Board(id, board) => {
                let entity = model.entity(*id);
                count::board(call, (entity, entity.board(*board))).await
            }
            Action::Ranked(id, board) => {
                let entity = model.entity(*id);
                count::ranked(call, (entity, entity.board(*board))).await
            }
            Action::Batch => bulk::batch(call, model, id).await,
            Action::Transaction => bulk::transaction(call, model).await,
            Action::ListTokens => token_routes::list(call, &self.tokens).await,
            Action::CreateToken => token_routes::create(call, &self.tokens).await,
            Action::RevokeToken => token_routes::revoke(call, &self.tokens).await,
            Action::Changes => changes::stream(call, model, &self.is_stopped.subscribe()).await,
            Action::Job(_, step) => jobs::step(call, *step).await,
            Action::Metrics => self.measurements().await,
            Action::Own(index, _) => {
                let request = OwnRequest {
                    db: call.db.clone(),
                    values: call.values.clone(),
                    parameters: call.parameters.clone(),
                    headers: texts(&call.headers),
                    body: call.body.to_vec(),
                };
                self.own_reply(request, *index).await
            }
            Action::OpenApi | Action::Docs | Action::Health => Ok(Reply::empty(StatusCode::OK)),
        }
    }

    async fn measurements(&self) -> Result<Reply, Problem> {
        let text = self.metrics.text() + &backlog_text(&self.db.backlog().await?);
        let media_type = "text/plain; version=0.0.4";
        Ok(Reply { media_type, ..Reply::json(StatusCode::OK, text) })
    }

    async fn own_reply(&self, request: OwnRequest, index: usize) -> Result<Reply, Problem> {
        let route = &self.own[index];
        let answer = route.handler.answer(request).await?;
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        let mut reply = Reply::json(status, answer.body);
        if let OwnShape::Html = route.answer {
            reply.media_type = "text/html; charset=utf-8";
        }
        let named = answer.headers.into_iter();
        let named = named.filter_map(|(name, v)| Some((HeaderName::try_from(name).ok()?, v)));
        reply.headers = named.collect();
        Ok(reply)
    }

    /// The id that a client gave its request, or a new one.
    fn request_id(&self, headers: &HeaderMap) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
        let given = given.filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(is_plain));
        given.map_or_else(|| self.request_ids.next(), str::to_owned)
    }
}

impl Service for Rest {
    fn is_open(&self) -> bool {
        self.tokens.is_open()
    }

    fn stop(&self) {
        self.is_stopped.send_replace(true);
    }

    fn answer(self: Arc<Self>, request: Request<Bytes>) -> Answer {
        Box::pin(async move {
            let (started, _in_flight) = (Instant::now(), self.metrics.begin());
            let id = self.request_id(request.headers());
            let (method, uri) = (request.method().clone(), request.uri().clone());
            let (gzip, bytes_in) = (Gzip::of(request.headers()), request.body().len());
            let mut trail = Trail::default();
            let reply = self.reply(request, &id, &mut trail).await;
            let took = started.elapsed();
            let status = reply.status.as_u16();
            self.metrics.count(trail.operation, status, took);
            let operations = self.router.operations();
            let path = told_path(operations, uri.path());
            let entry = Entry {
                request_id: &id,
                method: method.as_str(),
                path: &path,
                operation: trail.operation.map(|index| operations[index].name.as_str()),
                token: trail.caller.as_ref().and_then(|caller| caller.token.as_deref()),
                tenant: trail.caller.as_ref().and_then(|caller| caller.tenant.as_deref()),
                status,
                code: reply.code,
                cause: reply.cause.as_deref(),
                bytes_in,
                bytes_out: reply.body.len(),
                took,
            };
            self.options.log.tell(&*self.options.clock, &entry);
            response(reply, &id, gzip)
        })
    }

    fn refuse(&self, refusal: Refusal) -> Response<Body> {
        let (kind, detail) = match refusal {
            Refusal::TooLarge => {
                (Kind::BodyTooLarge, "The body is larger than the server takes: send less at once.")
            }
            Refusal::Broken => {
                (Kind::BadDocument, "The body ended before it was whole: send all of it.")
            }
            Refusal::TooSlow => (Kind::Timeout, "The body did not arrive in time: send it faster."),
            Refusal::NoRoom => (Kind::Busy, "Too many bodies arrive at once: try again."),
        };
        let id = self.request_ids.next();
        response(problem_reply(&Problem::new(kind, detail), &id), &id, Gzip::Refused)
    }
}

impl From<Rest> for App {
    fn from(service: Rest) -> App {
        App { service: Arc::new(service) }
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

/// A path as the log tells it. What stands for a parameter where anybody is let in may be the
/// secret that lets them in, whatever the method and whether there is such a path.
fn told_path<'p>(operations: &[Operation], path: &'p str) -> Cow<'p, str> {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_secret = operations.iter().any(|operation| {
        operation.access() == Access::Anybody
            && operation.path.len() > 1
            && matches!(&operation.path[0], Segment::Text(text) if text == first)
    });
    if is_secret { Cow::Owned(format!("/{first}/…")) } else { Cow::Borrowed(path) }
}

/// Those that are text, with their names in lower case.
fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    headers.iter().filter_map(text).collect()
}

fn own_operation(index: usize, route: &OwnRoute) -> Result<Operation, String> {
    let method = Method::from_bytes(route.method.as_bytes())
        .map_err(|_| format!("The route {route:?} has no method."))?;
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

fn problem_reply(problem: &Problem, id: &str) -> Reply {
    let mut reply = Reply::json(problem.status(), problem.to_json(id).to_string());
    reply.media_type = "application/problem+json";
    reply.code = Some(problem.kind().code());
    reply.cause = problem.cause().map(str::to_owned);
    if let Some(methods) = problem.allow() {
        reply = reply.with(ALLOW, methods);
    }
    match problem.kind() {
        Kind::Unauthorized => reply.with(WWW_AUTHENTICATE, "Bearer"),
        Kind::Busy | Kind::Building => reply.with(RETRY_AFTER, "1"),
        _ => reply,
    }
}

fn response(reply: Reply, id: &str, gzip: Gzip) -> Response<Body> {
    let mut headers: Vec<(HeaderName, HeaderValue)> = reply.header_values().collect();
    let compressed = compressed(&reply.body, gzip);
    if compressed.is_some() {
        headers.push((CONTENT_ENCODING, HeaderValue::from_static("gzip")));
    }
    headers.push((VARY, HeaderValue::from_static("accept-encoding")));
    let body = match reply.pieces {
        Some(pieces) => Body::Pieces(pieces),
        None => Bytes::from(compressed.unwrap_or(reply.body)).into(),
    };
    let mut response = Response::new(body);
    *response.status_mut() = reply.status;
    // What is answered to one may not be kept for another, nor be taken for a page.
    headers.push((CACHE_CONTROL, HeaderValue::from_static("private, no-cache")));
    headers.push((X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")));
    headers.extend(HeaderValue::from_str(id).ok().map(|id| (REQUEST_ID, id)));
    response.headers_mut().extend(headers);
    response
}
