//! The layers around every app.

use std::any::Any;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Body as _;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    IF_MATCH, IF_NONE_MATCH, LOCATION, RETRY_AFTER, VARY,
};
use keyloom_store::yield_point;
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::edge::Origin;
use super::exchange::Exchange;
use super::observe::observe;
use super::refusal::Refusal;
use crate::App;
use crate::app::Service;
use crate::fair::Weight;

/// Smaller bodies are not worth compressing.
const COMPRESSED_BYTES_MIN: u64 = 1024;
/// The media type of endless responses.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
/// How long a browser may cache the answer to a preflight request.
const CORS_TIME: Duration = Duration::from_secs(60 * 60);

/// An app, and what every request to it and every response of it passes.
///
/// The layers are functions that call one another, not a stack of axum: that clones and boxes every layer for every
/// request, which costs more than the layers themselves.
pub(crate) struct Layers {
    app: Arc<dyn Service>,
    /// `None` if pages of no other origin may read responses.
    cors: Option<CorsLayer>,
}

impl Layers {
    pub(crate) fn around(App(app): App, cors_origins: &[HeaderValue]) -> Layers {
        let cors = (!cors_origins.is_empty()).then(|| cors(cors_origins));
        Layers { app, cors }
    }

    pub(crate) fn app(&self) -> &dyn Service {
        &*self.app
    }

    /// Answers a request. The log and the metrics are for all requests, so they are outermost.
    pub(crate) async fn answer(&self, origin: &Arc<Origin>, request: Request) -> Response {
        let id = self.app.request_id(request.headers());
        let exchange = &Arc::new(Exchange::new(origin.clone(), id));
        observe(&*self.app, exchange, request, async |request| match &self.cors {
            Some(cors) => {
                let guarded = service_fn(async |request| Ok(self.guarded(exchange, request).await));
                let Ok::<_, Infallible>(response) = cors.layer(guarded).oneshot(request).await;
                response
            }
            None => self.guarded(exchange, request).await,
        })
        .await
    }

    /// Answers, also if the app panics.
    async fn guarded(&self, exchange: &Arc<Exchange>, request: Request) -> Response {
        let whole = AssertUnwindSafe(self.whole(exchange, request)).catch_unwind();
        whole.await.unwrap_or_else(|cause| panicked(&*cause))
    }

    /// Collects the body before the head is sent, so that its length and its checksum are known. Event streams
    /// are passed on.
    async fn whole(&self, exchange: &Arc<Exchange>, request: Request) -> Response {
        let response = self.compressed(exchange, request).await;
        let media_type = response.headers().get(CONTENT_TYPE);
        if media_type.is_some_and(|media_type| media_type == EVENT_STREAM) {
            return response;
        }
        let (mut head, body) = response.into_parts();
        let collected = match body.size_hint().exact() {
            Some(_) => collect(body).await,
            // It is compressed while it is read, which takes time.
            None => exchange.origin.edge.pool.run(Weight::Heavy, collect(body)).await,
        };
        match collected {
            Ok(body) => {
                self.app.add_body_headers(&mut head.headers, &body);
                Response::from_parts(head, Body::from(body))
            }
            Err(error) => {
                tracing::error!(%error, "cannot produce the body of a response");
                Refusal::Panicked.into()
            }
        }
    }

    /// Answers with a compressed body, if the client accepts one and it is worth it; also says that it depends on that.
    async fn compressed(&self, exchange: &Arc<Exchange>, request: Request) -> Response {
        let worth =
            SizeAbove::new(COMPRESSED_BYTES_MIN).and(NotForContentType::const_new(EVENT_STREAM));
        // For clients that accept nothing, the layer would take longer than a small response.
        if !request.headers().contains_key(ACCEPT_ENCODING) {
            let mut response = self.app.clone().answer(exchange, request).await;
            // As the layer does. No app encodes its bodies, or says what they vary by.
            if worth.should_compress(&response) {
                response.headers_mut().append(VARY, ACCEPT_ENCODING.into());
            }
            return response;
        }
        let answer = service_fn(async |request| -> Result<Response, Infallible> {
            Ok(self.app.clone().answer(exchange, request).await)
        });
        let compression =
            CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth);
        let Ok(response) = compression.layer(answer).oneshot(request).await;
        response.map(Body::new)
    }
}

async fn collect(mut body: Body) -> Result<Bytes, axum::Error> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        // Most bodies are in one piece, which need not be copied.
        if bytes.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        bytes.extend_from_slice(&data);
        yield_point().await;
    }
    Ok(bytes.freeze())
}

fn panicked(cause: &(dyn Any + Send)) -> Response {
    let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
    tracing::error!(panic = text.as_deref().unwrap_or("unknown"), "an operation panicked");
    Refusal::Panicked.into()
}

/// Pages of the allowed origins may do whatever their token allows.
fn cors(origins: &[HeaderValue]) -> CorsLayer {
    const SENT: [HeaderName; 16] = [
        AUTHORIZATION,
        CONTENT_ENCODING,
        CONTENT_TYPE,
        IF_MATCH,
        IF_NONE_MATCH,
        HeaderName::from_static("idempotency-key"),
        HeaderName::from_static("keyloom-tenant"),
        HeaderName::from_static("x-request-id"),
        // Those of the AWS SDKs.
        HeaderName::from_static("amz-sdk-invocation-id"),
        HeaderName::from_static("amz-sdk-request"),
        HeaderName::from_static("x-amz-content-sha256"),
        HeaderName::from_static("x-amz-date"),
        HeaderName::from_static("x-amz-security-token"),
        HeaderName::from_static("x-amz-target"),
        HeaderName::from_static("x-amz-user-agent"),
        HeaderName::from_static("x-amzn-trace-id"),
    ];
    const SEEN: [HeaderName; 6] = [
        ETAG,
        LOCATION,
        RETRY_AFTER,
        HeaderName::from_static("x-request-id"),
        HeaderName::from_static("x-amz-crc32"),
        HeaderName::from_static("x-amzn-requestid"),
    ];
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let layer = CorsLayer::new()
        .allow_methods(methods)
        .allow_headers(SENT)
        .expose_headers(SEEN)
        .max_age(CORS_TIME);
    match origins.iter().any(|origin| origin == "*") {
        true => layer.allow_origin(AllowOrigin::any()),
        // Cookies only for origins that are named.
        false => {
            layer.allow_origin(AllowOrigin::list(origins.iter().cloned())).allow_credentials(true)
        }
    }
}
