//! The outermost layer: gives every request an id, counts it and logs it.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::Request;
use axum::response::Response;
use hyper::StatusCode;
use hyper::body::Body as _;
use hyper::header::{CONNECTION, HeaderValue};

use super::edge::Origin;
use super::refusal::Refusal;
use crate::app::Service;

/// The target of the log events of requests, for filters.
pub const REQUEST_TARGET: &str = "keyloom::request";

/// What an app adds to the log event of a request: an extension of its response.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogFields {
    pub(crate) operation: Option<Arc<str>>,
    /// The id of the caller's token.
    pub(crate) token: Option<String>,
    pub(crate) tenant: Option<String>,
    /// The code of a problem.
    pub(crate) code: Option<&'static str>,
    /// The internal cause of a problem.
    pub(crate) cause: Option<String>,
    pub(crate) bytes_in: usize,
}

/// Gives a request its id, has the app format refusals of the edge, counts and logs.
pub(super) async fn observe(
    app: &dyn Service,
    mut origin: Origin,
    mut request: Request,
    answer: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let (began, _in_flight) = (Instant::now(), app.metrics().begin());
    let id: Arc<str> = app.request_id(request.headers()).into();
    let (client, method, uri) = (origin.client, request.method().clone(), request.uri().clone());
    origin.request_id = id.clone();
    request.extensions_mut().insert(origin);
    let mut response = answer(request).await;
    let mut fields = response.extensions_mut().remove::<LogFields>();
    if let Some(refusal) = refusal(&mut response, fields.as_ref()) {
        response = refused(app, refusal, &id);
        // Keeps what the app knew about the request, with the code of the refusal.
        let of_refusal = response.extensions_mut().remove::<LogFields>().unwrap_or_default();
        fields = Some(LogFields { code: of_refusal.code, ..fields.unwrap_or_default() });
    }
    let fields = fields.unwrap_or_default();
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(app.request_id_header(), id);
    }
    let (took, status) = (began.elapsed(), response.status().as_u16());
    app.metrics().count(fields.operation.as_ref(), status, took);
    macro_rules! log {
        ($level:ident) => {
            tracing::$level!(
                target: REQUEST_TARGET,
                request_id = &*id,
                %client,
                method = method.as_str(),
                path = &*app.log_path(uri.path()),
                operation = fields.operation.as_deref(),
                token = fields.token.as_deref(),
                tenant = fields.tenant.as_deref(),
                status,
                code = fields.code,
                cause = fields.cause.as_deref(),
                bytes_in = fields.bytes_in,
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

/// The refusal of the edge, if there is one.
fn refusal(response: &mut Response, fields: Option<&LogFields>) -> Option<Refusal> {
    // The layer that decompresses bodies sets only the status.
    let is_packed = fields.is_none() && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let refusal = response.extensions_mut().remove::<Refusal>();
    refusal.or(is_packed.then_some(Refusal::UnknownEncoding))
}

fn refused(app: &dyn Service, refusal: Refusal, id: &str) -> Response {
    let mut response = app.refuse(refusal, id);
    if refusal.ends_connection() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
