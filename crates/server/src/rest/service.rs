//! From an HTTP request to an operation and back: who is asking, what they may, how long it took.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use hyper::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use keyloom::Db;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::access::{Caller, Owner, credential, identify};
use super::app::RestOptions;
use super::call::{Call, Reply};
use super::operation::{Access, Operation};
use super::problem::{Kind, Problem};
use super::state::State;
use super::unserved::Directory;
use super::{explain, uri};
use crate::fair::Weight;
use crate::http::edge::Origin;
use crate::http::observe::{RequestId, Told};
use crate::http::receive::receive;
use crate::http::refusal::Refusal;
use crate::http::request_id::RequestIds;

/// What answers the requests to a model.
#[derive(Debug)]
pub(crate) struct RestService {
    /// All of it; a call has what its caller sees.
    pub(super) db: Db,
    pub(super) state: State,
    pub(super) options: RestOptions,
    pub(super) operations: Vec<Operation>,
    /// The names of the operations, in their order.
    pub(super) names: Vec<Arc<str>>,
    /// Where to look instead, for requests that find nothing.
    pub(super) directory: Directory,
    pub(super) request_ids: RequestIds,
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
        let caller = self.caller(operation, &head, &mut parameters, answer_time).await?;
        told.token = caller.token.clone();
        told.tenant = caller.tenant.clone();
        caller.check(operation, &self.state.model)?;
        let received = receive(origin, body).await?;
        told.bytes_in = received.bytes.len();
        let call = Call {
            db: caller.db(&self.db, &self.state.model),
            caller,
            method: head.method,
            values,
            parameters,
            headers: head.headers,
            body: received.bytes.clone(),
            closed: self.options.closed,
            origin: origin.clone(),
            request_id: id.clone(),
        };
        if operation.action.is_immediate() {
            return Ok(operation.action.run(&self.state, &call).await?);
        }
        // From here on it may take long: it takes turns with others.
        let (service, weight) = (self.clone(), Weight::of_body(call.body.len()));
        let reply = async move { service.answer(call, index).await };
        in_time(answer_time, pool.run(weight, reply)).await
    }

    /// Who is asking.
    async fn caller(
        &self,
        operation: &Operation,
        head: &Parts,
        parameters: &mut Vec<(String, String)>,
        answer_time: Duration,
    ) -> Result<Caller, Stopped> {
        if operation.access() == Access::Anybody {
            return Ok(Caller::nobody());
        }
        let token = credential(operation, head, parameters)?;
        match head.extensions.get::<Owner>() {
            Some(Owner { tenant }) => Ok(Caller::owner(tenant.as_deref())),
            None => in_time(answer_time, identify(&self.state.tokens, token, &head.headers)).await,
        }
    }

    /// Runs an operation, and explains what it cost if that was asked for.
    async fn answer(&self, mut call: Call, index: usize) -> Result<Reply, Stopped> {
        let action = &self.operations[index].action;
        let watch = if action.is_explained() { explain::watch(&mut call)? } else { None };
        if action.takes_several_reads(&call) {
            call.db = call.db.at_one_moment().await.map_err(Problem::from)?;
        }
        let reply = action.run(&self.state, &call).await?;
        Ok(match watch {
            Some(explained) => explain::tell(reply, &explained),
            None => reply,
        })
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
