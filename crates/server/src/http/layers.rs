//! The layers around every app, as tower has them.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Collected};
use hyper::Method;
use hyper::body::Body as _;
use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_MATCH,
    IF_NONE_MATCH, LOCATION, RETRY_AFTER,
};
use keyloom_store::yield_point;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::edge::Origin;
use super::observe::observe;
use super::refusal::Refusal;
use crate::App;
use crate::app::Face;
use crate::fair::Weight;

/// Bodies below this are not worth compressing.
const COMPRESSED_BYTES_MIN: u64 = 1024;
/// The media type of answers that have no end.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
/// How long a browser need not ask again what it may send.
const CORS_TIME: Duration = Duration::from_secs(60 * 60);

/// An app with everything around it that every app needs.
pub(crate) fn around(app: App, cors_origins: &[HeaderValue]) -> Router {
    let App { router, face } = app;
    let compressed =
        SizeAbove::new(COMPRESSED_BYTES_MIN).and(NotForContentType::const_new(EVENT_STREAM));
    let compression =
        CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(compressed);
    // The last one is the outermost.
    let router = router
        .layer(compression)
        .layer(from_fn_with_state(face.clone(), whole))
        .layer(CatchPanicLayer::custom(panicked));
    let router = match cors_origins {
        [] => router,
        origins => router.layer(cors(origins)),
    };
    router.layer(from_fn_with_state(face, observe))
}

/// Makes the body before the head is sent, so that its length is known and its bytes can be
/// summed up; but a stream goes out as it comes about.
async fn whole(State(face): State<Arc<dyn Face>>, request: Request, next: Next) -> Response {
    let origin = Origin::of(request.extensions());
    let response = next.run(request).await;
    let media_type = response.headers().get(CONTENT_TYPE);
    if media_type.is_some_and(|media_type| media_type == EVENT_STREAM) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let collected = match body.size_hint().exact() {
        Some(_) => body.collect().await.map(Collected::to_bytes),
        // It is compressed as it is read, which takes time.
        None => origin.edge.pool.run(Weight::Heavy, collect_in_slices(body)).await,
    };
    match collected {
        Ok(body) => {
            face.seal(&mut head.headers, &body);
            Response::from_parts(head, Body::from(body))
        }
        Err(error) => {
            tracing::error!(%error, "an answer could not be made");
            Refusal::Panicked.into()
        }
    }
}

async fn collect_in_slices(mut body: Body) -> Result<Bytes, axum::Error> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        yield_point().await;
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.freeze())
}

fn panicked(cause: Box<dyn Any + Send>) -> Response {
    let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
    tracing::error!(panic = text.as_deref().unwrap_or("unknown"), "an operation panicked");
    Refusal::Panicked.into()
}

/// What pages of other origins may do: everything that a token lets them, since the token is what
/// they have to have.
fn cors(origins: &[HeaderValue]) -> CorsLayer {
    const SENT: [HeaderName; 8] = [
        AUTHORIZATION,
        CONTENT_ENCODING,
        CONTENT_TYPE,
        IF_MATCH,
        IF_NONE_MATCH,
        HeaderName::from_static("idempotency-key"),
        HeaderName::from_static("keyloom-tenant"),
        HeaderName::from_static("x-request-id"),
    ];
    const SEEN: [HeaderName; 4] =
        [ETAG, LOCATION, RETRY_AFTER, HeaderName::from_static("x-request-id")];
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let layer = CorsLayer::new()
        .allow_methods(methods)
        .allow_headers(SENT)
        .expose_headers(SEEN)
        .max_age(CORS_TIME);
    match origins.iter().any(|origin| origin == "*") {
        true => layer.allow_origin(AllowOrigin::any()),
        // Cookies only for those who were named.
        false => {
            layer.allow_origin(AllowOrigin::list(origins.iter().cloned())).allow_credentials(true)
        }
    }
}
