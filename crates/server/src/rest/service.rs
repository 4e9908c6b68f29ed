//! Runs operations: authenticates a request, receives its body, and turns the result into a response.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use keyloom::Db;
use keyloom_dynamodb::Consumption;

use super::access::{OperatorRequest, check, credential, identify};
use super::call::{Call, Chunks, Reply};
use super::caller::Caller;
use super::live::{self, LiveQueries};
use super::operation::{Access, Operation};
use super::options::RestOptions;
use super::problem::{Kind, Problem};
use super::role::Role;
use super::routing::Routes;
use super::state::State;
use super::unserved::Directory;
use super::{explain, reserved, uri};
use crate::fair::Weight;
use crate::http::exchange::{Exchange, LogFields};
use crate::http::receive::receive;
use crate::http::refusal::Refusal;
use crate::http::request_id::RequestIds;
use crate::http::timeout::timeout;

/// The header that has the id of a request.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers the requests to a model.
#[derive(Debug)]
pub(crate) struct RestService {
    /// Sees all tenants; a call has the database as its caller sees it.
    pub(super) db: Db,
    pub(super) state: State,
    pub(super) options: RestOptions,
    /// The names of the operations, in their order.
    pub(super) names: Vec<Arc<str>>,
    /// What the operations have consumed of DynamoDB, in their order.
    pub(super) consumed: Vec<Arc<Consumption>>,
    /// Which of them are at a path.
    pub(super) routes: Routes,
    /// The served paths, for hints in problems.
    pub(super) directory: Directory,
    pub(super) request_ids: RequestIds,
    /// The queries that clients follow.
    pub(super) live: LiveQueries,
}

/// Why a request was stopped: a problem of the app, or a refusal of the edge.
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
    /// Answers a request to an operation.
    pub(super) async fn operate(
        self: &Arc<Self>,
        index: usize,
        exchange: &Arc<Exchange>,
        request: Request,
    ) -> Response {
        let mut fields =
            LogFields { operation: Some(self.names[index].clone()), ..LogFields::default() };
        let served = self.serve(index, request, exchange, &mut fields);
        let answered = self.consumed[index].clone().measure(served).await;
        respond(answered, exchange, fields)
    }

    async fn serve(
        self: &Arc<Self>,
        index: usize,
        request: Request,
        exchange: &Arc<Exchange>,
        fields: &mut LogFields,
    ) -> Result<Reply, Stopped> {
        let (operation, origin) = (&self.state.operations[index], &exchange.origin);
        let (answer_time, pool) = (origin.edge.limits.answer_time, &origin.edge.pool);
        let (head, body) = request.into_parts();
        let values = operation.values(&uri::segments(head.uri.path())?);
        let mut parameters = uri::parameters(head.uri.query().unwrap_or_default())?;
        // The body is not read before the caller is authorized.
        let caller = self.caller(operation, &head, &mut parameters, answer_time).await?;
        fields.token = caller.token.clone();
        fields.tenant = caller.tenant.clone();
        check(&caller, operation, &self.state.model)?;
        let received = receive(origin, body).await?;
        fields.bytes_in = received.bytes.len();
        let mut hidden = vec![];
        if let Some(entity) = operation.action.entity().filter(|_| !parameters.is_empty()) {
            hidden = reserved::hidden(self.state.model.entity(entity));
            reserved::rename(&mut parameters, &hidden);
        } else if operation.action.is_paged() {
            reserved::rename(&mut parameters, &[]);
        }
        let mut call = Call {
            db: caller.db(&self.db, &self.state.model),
            caller,
            method: head.method,
            values,
            parameters,
            hidden,
            headers: head.headers,
            body: received.bytes.clone(),
            closed: self.options.closed,
            exchange: exchange.clone(),
        };
        if operation.action.is_immediate() {
            return Ok(operation.action.run(&self.state, &call).await?);
        }
        if operation.action.is_query() && live::take_wish(&mut call)? {
            return Ok(live::follow(self, index, call).await?);
        }
        // The rest may take long: it runs in the fair pool.
        let (service, weight) = (self.clone(), Weight::of_body(call.body.len()));
        let consumed = self.consumed[index].clone();
        // On threads of the pool.
        let reply = consumed.measure(async move { service.answer(call, index).await });
        in_time(answer_time, pool.run(weight, reply)).await
    }

    /// Identifies the caller.
    async fn caller(
        &self,
        operation: &Operation,
        head: &Parts,
        parameters: &mut Vec<(String, String)>,
        answer_time: Duration,
    ) -> Result<Caller, Stopped> {
        if operation.access() == Access::Public {
            return Ok(Caller::anonymous());
        }
        let token = credential(operation, head, parameters)?;
        match head.extensions.get::<OperatorRequest>() {
            Some(OperatorRequest { tenant }) => Ok(Caller::operator(tenant.as_deref())),
            None => in_time(answer_time, identify(&self.state.tokens, token, &head.headers)).await,
        }
    }

    /// Runs an operation, and adds its cost if requested.
    pub(super) async fn answer(&self, mut call: Call, index: usize) -> Result<Reply, Stopped> {
        let action = &self.state.operations[index].action;
        let watch = if action.is_query() { explain::watch(&mut call)? } else { None };
        if watch.is_some() {
            call.caller.check_explained(Role::Reader)?;
        }
        if action.takes_several_reads(&call) {
            call.db = call.db.at_one_moment().await.map_err(Problem::from)?;
        }
        let reply = action.run(&self.state, &call).await?;
        Ok(match watch {
            Some(explained) => explain::add_cost(reply, &explained),
            None => reply,
        })
    }
}

/// Limits the time of an answer.
async fn in_time<T, E: Into<Stopped>>(
    time: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, Stopped> {
    match timeout(time, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Refusal::Overdue.into()),
    }
}

pub(super) fn problem_reply(problem: &Problem, id: &str) -> Reply {
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

/// Builds the response, and notes the log fields.
pub(super) fn respond(
    answered: Result<Reply, Stopped>,
    exchange: &Exchange,
    mut fields: LogFields,
) -> Response {
    let mut reply = match answered {
        Ok(reply) => reply,
        Err(Stopped::Problem(problem)) => problem_reply(&problem, &exchange.request_id),
        Err(Stopped::Refusal(refusal)) => {
            exchange.note(fields);
            return Response::from(refusal);
        }
    };
    (fields.code, fields.cause) = (reply.code, reply.cause.take());
    exchange.note(fields);
    response(reply)
}

/// The response with a reply.
pub(super) fn response(reply: Reply) -> Response {
    let headers: Vec<(HeaderName, HeaderValue)> = reply.header_values().collect();
    let body = match reply.chunks {
        Some(Chunks(chunks)) => Body::from_stream(chunks.map(Ok::<Bytes, Infallible>)),
        None => Body::from(reply.body),
    };
    let mut response = Response::new(body);
    *response.status_mut() = reply.status;
    response.headers_mut().extend(headers);
    // Shared caches must not store responses, and browsers must not guess their type.
    let fixed = [
        (CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    response.headers_mut().extend(fixed);
    response
}
