//! From an HTTP request to an operation and back: who is asking, what they may, how long it took.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use hyper::StatusCode;
use hyper::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue};
use keyloom::Db;
use keyloom_model::Model;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::access::{Caller, Owner, credential, identify};
use super::app::RestOptions;
use super::call::{Call, Reply};
use super::metrics::{BacklogMetrics, OperationMetrics};
use super::news::News;
use super::operation::{Access, Action, Operation};
use super::own_route::{OwnRequest, OwnRoute, OwnShape};
use super::pages::Pages;
use super::problem::{Kind, Problem};
use super::readiness::Readiness;
use super::tokens::Tokens;
use super::unserved::Directory;
use super::{bulk, changes, count, entity, explain, jobs, list, token_routes, uri, values};
use crate::fair::Weight;
use crate::http::edge::Origin;
use crate::http::metrics::{Metrics, OPEN_METRICS};
use crate::http::observe::{RequestId, Told};
use crate::http::receive::receive;
use crate::http::refusal::Refusal;
use crate::http::request_id::RequestIds;

/// What answers the requests to a model.
#[derive(Debug)]
pub(crate) struct RestService {
    pub(super) db: Db,
    pub(super) model: Model,
    pub(super) tokens: Arc<Tokens>,
    pub(super) options: RestOptions,
    pub(super) own: Vec<OwnRoute>,
    pub(super) operations: Vec<Operation>,
    /// The names of the operations, in their order.
    pub(super) names: Vec<Arc<str>>,
    /// Where to look instead, for requests that find nothing.
    pub(super) directory: Directory,
    pub(super) pages: Pages,
    pub(super) metrics: Metrics,
    pub(super) backlog: BacklogMetrics,
    pub(super) under_way: OperationMetrics,
    pub(super) readiness: Readiness,
    pub(super) request_ids: RequestIds,
    pub(super) is_stopped: watch::Sender<bool>,
    pub(super) news: Arc<News>,
}

/// Why a request has no answer: the app says why, or the edge does.
#[derive(Debug)]
pub(super) enum Stopped {
    Problem(Problem),
    Refusal(Refusal),
}

impl From<Problem> for Stopped {
    fn from(problem: Problem) -> Stopped {
        Stopped::Problem(problem)
    }
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Stopped {
        Stopped::Refusal(refusal)
    }
}

impl RestService {
    /// The answer to a request to an operation.
    pub(super) async fn operate(self: Arc<Self>, index: usize, request: Request) -> Response {
        let mut told = Told { operation: Some(self.names[index].clone()), ..Told::default() };
        let id = request_id(&request);
        let origin = Origin::of(request.extensions());
        let answered = self.serve(index, request, &origin, &id, &mut told).await;
        respond(answered, &id, told)
    }

    async fn serve(
        self: &Arc<Self>,
        index: usize,
        request: Request,
        origin: &Origin,
        id: &Arc<str>,
        told: &mut Told,
    ) -> Result<Reply, Stopped> {
        let operation = &self.operations[index];
        let (answer_time, pool) = (origin.edge.limits.answer_time, &origin.edge.pool);
        let (head, body) = request.into_parts();
        let values = operation.values(&uri::segments(head.uri.path())?);
        let mut parameters = uri::parameters(head.uri.query().unwrap_or_default())?;
        // Nothing is taken from a client before it is known whether it may send it.
        let caller = match operation.access() {
            Access::Anybody => None,
            Access::Role(_) => {
                let token = credential(operation, &head, &mut parameters)?;
                let identified = match head.extensions.get::<Owner>() {
                    Some(Owner { tenant }) => Ok(Caller::owner(tenant.as_deref())),
                    None => {
                        in_time(answer_time, identify(&self.tokens, token, &head.headers)).await
                    }
                };
                let caller = identified?;
                told.token = caller.token.clone();
                told.tenant = caller.tenant.clone();
                caller.check(operation, &self.model)?;
                Some(caller)
            }
        };
        let received = receive(origin, body).await?;
        told.bytes_in = received.bytes.len();
        let (body, weight) = (received.bytes.clone(), Weight::of_body(received.bytes.len()));
        // From here on it may take long: it takes turns with others.
        let (service, id) = (self.clone(), id.clone());
        let Some(caller) = caller else {
            let Action::Own(index, _) = operation.action else {
                return Ok(self.say(operation, &head.headers)?);
            };
            let (db, headers) = (self.db.clone(), texts(&head.headers));
            let request = OwnRequest { db, values, parameters, headers, body: body.to_vec() };
            let reply = async move { service.own_reply(request, index).await };
            return in_time(answer_time, pool.run(weight, reply)).await;
        };
        let call = Call {
            db: caller.db(&self.db, &self.model),
            caller,
            method: head.method,
            values,
            parameters,
            headers: head.headers,
            body,
            closed: self.options.closed,
            origin: origin.clone(),
        };
        let reply = async move {
            let action = &service.operations[index].action;
            service.explained(call, action, &id).await
        };
        in_time(answer_time, pool.run(weight, reply)).await
    }

    /// Acts, and tells what it cost if that was asked for.
    async fn explained(&self, mut call: Call, action: &Action, id: &str) -> Result<Reply, Stopped> {
        let watch = if action.is_explained() { explain::watch(&mut call)? } else { None };
        if action.takes_several_reads(&call) {
            call.db = call.db.at_one_moment().await.map_err(Problem::from)?;
        }
        let reply = self.act(&call, action, id).await?;
        Ok(match watch {
            Some(explained) => explain::tell(reply, &explained),
            None => reply,
        })
    }

    /// What anybody may know.
    fn say(&self, operation: &Operation, asked: &HeaderMap) -> Result<Reply, Problem> {
        Ok(match operation.action {
            Action::OpenApi => self.pages.openapi.reply(asked),
            Action::Docs => self.pages.docs.reply(asked),
            Action::Ready => {
                self.readiness.check()?;
                Reply::json(StatusCode::OK, r#"{"status":"ready"}"#)
            }
            _ => Reply::json(StatusCode::OK, r#"{"status":"ok"}"#),
        })
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
            Action::Changes(told) => {
                changes::stream(call, (model, told), (&self.news, &self.is_stopped)).await
            }
            Action::Job(_, step) => jobs::step(call, *step).await,
            Action::Metrics => self.measurements(&call.origin).await,
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
            Action::OpenApi | Action::Docs | Action::Health | Action::Ready => {
                Ok(Reply::empty(StatusCode::OK))
            }
        }
    }

    async fn measurements(&self, origin: &Origin) -> Result<Reply, Problem> {
        self.backlog.set(&self.db.backlog().await?);
        let now_ms = i64::try_from(self.tokens.now().0).unwrap_or(i64::MAX);
        self.under_way.set(&self.db.operations().await?, now_ms);
        let text = self.metrics.text(&origin.edge);
        Ok(Reply { media_type: OPEN_METRICS, ..Reply::json(StatusCode::OK, text) })
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
}

/// The answer, unless it takes too long.
async fn in_time<T, E: Into<Stopped>>(
    time: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, Stopped> {
    match timeout(time, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Refusal::Overdue.into()),
    }
}

/// Those that are text, with their names in lower case.
fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    headers.iter().filter_map(text).collect()
}

fn problem_reply(problem: &Problem, id: &str) -> Reply {
    let mut reply = Reply::json(problem.status(), problem.to_json(id).to_string());
    reply.media_type = "application/problem+json";
    reply.code = Some(problem.kind().code());
    reply.cause = problem.cause().map(str::to_owned);
    if let Some(methods) = problem.allow() {
        reply = reply.with(ALLOW, methods);
    }
    if let Some(seconds) = problem.retry_secs() {
        reply = reply.with(RETRY_AFTER, seconds.to_string());
    }
    match problem.kind() {
        Kind::Unauthorized => reply.with(WWW_AUTHENTICATE, "Bearer"),
        _ => reply,
    }
}

/// The id that the edge gave a request.
pub(super) fn request_id(request: &Request) -> Arc<str> {
    request.extensions().get::<RequestId>().map_or_else(|| "".into(), |id| id.0.clone())
}

/// An answer as it is sent, and what is told about it.
pub(super) fn respond(answered: Result<Reply, Stopped>, id: &str, mut told: Told) -> Response {
    let reply = match answered {
        Ok(reply) => reply,
        Err(Stopped::Problem(problem)) => problem_reply(&problem, id),
        Err(Stopped::Refusal(refusal)) => {
            let mut response = Response::from(refusal);
            response.extensions_mut().insert(told);
            return response;
        }
    };
    let headers: Vec<(HeaderName, HeaderValue)> = reply.header_values().collect();
    let body = match reply.pieces {
        Some(pieces) => streamed(pieces),
        None => Body::from(reply.body),
    };
    let mut response = Response::new(body);
    *response.status_mut() = reply.status;
    response.headers_mut().extend(headers);
    // What is answered to one may not be kept for another, nor be taken for a page.
    let fixed = [
        (CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    response.headers_mut().extend(fixed);
    (told.code, told.cause) = (reply.code, reply.cause);
    response.extensions_mut().insert(told);
    response
}

/// A body that ends when nobody is left who could send a piece.
fn streamed(pieces: mpsc::Receiver<Bytes>) -> Body {
    Body::from_stream(stream::unfold(pieces, |mut pieces| async move {
        let piece = pieces.recv().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(piece), pieces))
    }))
}
