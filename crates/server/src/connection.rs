//! One connection: requests in, answers out, within the limits.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::CONNECTION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::app::Refusal;
use crate::body::Body;
use crate::{App, Limits};

/// Room for bodies is given out in pieces of so many bytes.
const PIECE_BYTES: usize = 1024;

/// What all connections share.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) app: App,
    pub(crate) limits: Limits,
    /// Pieces of room for bodies.
    room: Arc<Semaphore>,
}

impl Host {
    pub(crate) fn new(app: App, limits: Limits) -> Host {
        let room = Arc::new(Semaphore::new(limits.bodies_bytes.div_ceil(PIECE_BYTES)));
        Host { app, limits, room }
    }
}

/// Whether the server has been told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    No,
    Yes,
}

/// Serves a connection until it ends, or until the server stops and the request under way is
/// answered.
pub(crate) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    host: Host,
    mut stopped: watch::Receiver<Stop>,
) {
    let limits = host.limits;
    let service = service_fn(move |request| {
        let host = host.clone();
        async move { Ok::<_, Infallible>(answer(&host, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut stop = pin!(async move { stopped.wait_for(|stop| *stop == Stop::Yes).await.is_ok() });
    let mut is_stopping = false;
    // What ends a connection early, such as a client that goes away, concerns nobody else.
    let _ = poll_fn(|context| {
        if !is_stopping && let Poll::Ready(_) = stop.as_mut().poll(context) {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await;
}

async fn answer(host: &Host, request: Request<Incoming>) -> Response<Body> {
    let limits = &host.limits;
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return refuse(host, Refusal::TooLarge);
    }
    // A body that does not say its length gets room for the longest.
    let most = body.size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok());
    let pieces = most.unwrap_or(limits.body_bytes).div_ceil(PIECE_BYTES);
    let pieces = u32::try_from(pieces.min(limits.bodies_bytes / PIECE_BYTES)).unwrap_or(u32::MAX);
    let Ok(Ok(_room)) = timeout(limits.body_time, host.room.acquire_many(pieces)).await else {
        return refuse(host, Refusal::NoRoom);
    };
    let body = Limited::new(body, limits.body_bytes).collect();
    match timeout(limits.body_time, body).await {
        Ok(Ok(body)) => {
            let service = Arc::clone(&host.app.service);
            service.answer(Request::from_parts(head, body.to_bytes())).await
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => refuse(host, Refusal::TooLarge),
        Ok(Err(_)) => refuse(host, Refusal::Broken),
        Err(_) => refuse(host, Refusal::TooSlow),
    }
}

/// An answer to what was not read to its end: the connection cannot be used again.
fn refuse(host: &Host, refusal: Refusal) -> Response<Body> {
    let mut response = host.app.service.refuse(refusal);
    response.headers_mut().insert(CONNECTION, hyper::header::HeaderValue::from_static("close"));
    response
}
