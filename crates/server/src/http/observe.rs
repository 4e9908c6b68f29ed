//! The outermost layer: what is told about every request, to its client and to the log.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use hyper::StatusCode;
use hyper::body::Body as _;
use hyper::header::{CONNECTION, HeaderValue};

use super::edge::Origin;
use super::refusal::Refusal;
use crate::app::Face;

/// The target of the events of requests, by which a subscriber can choose them.
pub const REQUEST_TARGET: &str = "keyloom::request";

/// The id of a request: an extension of it.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

/// What an app tells about a request: an extension of its answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) operation: Option<Arc<str>>,
    /// The id of the token that let the client in.
    pub(crate) token: Option<String>,
    pub(crate) tenant: Option<String>,
    /// The code of a problem.
    pub(crate) code: Option<&'static str>,
    /// What is wrong inside.
    pub(crate) cause: Option<String>,
    pub(crate) bytes_in: usize,
}

/// Gives a request its id, lets the app say what the edge refuses, counts and logs.
pub(super) async fn observe(
    State(face): State<Arc<dyn Face>>,
    mut request: Request,
    next: Next,
) -> Response {
    let (began, _in_flight) = (Instant::now(), face.metrics().begin());
    let id: Arc<str> = face.request_id(request.headers()).into();
    let client = Origin::of(request.extensions()).client;
    let (method, uri) = (request.method().clone(), request.uri().clone());
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).await;
    let mut told = response.extensions_mut().remove::<Told>();
    if let Some(refusal) = refusal(&mut response, told.as_ref()) {
        response = refused(&*face, refusal, &id);
        // What the app knew of the request before it was refused, and the code of the refusal.
        let of_refusal = response.extensions_mut().remove::<Told>().unwrap_or_default();
        told = Some(Told { code: of_refusal.code, ..told.unwrap_or_default() });
    }
    let told = told.unwrap_or_default();
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(face.request_id_header(), id);
    }
    let (took, status) = (began.elapsed(), response.status().as_u16());
    face.metrics().count(told.operation.as_ref(), status, took);
    macro_rules! log {
        ($level:ident) => {
            tracing::$level!(
                target: REQUEST_TARGET,
                request_id = &*id,
                %client,
                method = method.as_str(),
                path = &*face.shown_path(uri.path()),
                operation = told.operation.as_deref(),
                token = told.token.as_deref(),
                tenant = told.tenant.as_deref(),
                status,
                code = told.code,
                cause = told.cause.as_deref(),
                bytes_in = told.bytes_in,
                bytes_out = response.body().size_hint().exact(),
                ms = (took.as_secs_f64() * 1e6).round() / 1e3,
            )
        };
    }
    match status {
        500.. => log!(error),
        _ => log!(info),
    }
    response
}

/// Why the edge refused, if it did.
fn refusal(response: &mut Response, told: Option<&Told>) -> Option<Refusal> {
    // The layer that decompresses bodies refuses without a word.
    let is_packed = told.is_none() && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let refusal = response.extensions_mut().remove::<Refusal>();
    refusal.or(is_packed.then_some(Refusal::UnknownEncoding))
}

fn refused(face: &dyn Face, refusal: Refusal, id: &str) -> Response {
    let mut response = face.refuse(refusal, id);
    if refusal.ends_connection() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
