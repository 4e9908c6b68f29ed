//! The outermost layer: counts every request and logs it.

use std::time::Instant;

use axum::extract::Request;
use axum::response::Response;
use hyper::body::Body as _;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Method, StatusCode};

use super::exchange::{Exchange, LogFields};
use super::refusal::Refusal;
use crate::app::Service;

/// The target of the log events of requests, for filters.
pub const REQUEST_TARGET: &str = "keyloom::request";

/// Has the app format refusals of the edge, adds the id of the request, counts and logs.
pub(super) async fn observe(
    app: &dyn Service,
    exchange: &Exchange,
    request: Request,
    answer: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let (began, _in_flight) = (Instant::now(), app.metrics().begin());
    let (id, client) = (&*exchange.request_id, exchange.origin.client);
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let mut response = answer(request).await;
    let mut fields = exchange.take_noted();
    if let Some(refusal) = refusal(&mut response, fields.as_ref()) {
        let code;
        (response, code) = refused(app, refusal, id);
        // Keeps what the app knew about the request, with the code of the refusal.
        fields = Some(LogFields { code, ..fields.unwrap_or_default() });
    }
    let fields = fields.unwrap_or_default();
    if let Ok(id) = HeaderValue::from_str(id) {
        response.headers_mut().insert(app.request_id_header(), id);
    }
    let (took, status) = (began.elapsed(), response.status().as_u16());
    app.metrics().count(fields.operation.as_ref(), status, took);
    macro_rules! log {
        ($level:ident) => {
            tracing::$level!(
                target: REQUEST_TARGET,
                request_id = id,
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
                bytes_out = bytes_out(&method, &response),
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

/// The length of the body that is sent; `None` for a stream.
fn bytes_out(method: &Method, response: &Response) -> Option<u64> {
    if method == Method::HEAD { Some(0) } else { response.body().size_hint().exact() }
}

/// The refusal of the edge, if there is one.
fn refusal(response: &mut Response, fields: Option<&LogFields>) -> Option<Refusal> {
    // The layer that decompresses bodies sets only the status.
    let is_packed = fields.is_none() && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let refusal = response.extensions_mut().remove::<Refusal>();
    refusal.or(is_packed.then_some(Refusal::UnknownEncoding))
}

/// The response to a refused request, and the code for the log.
fn refused(app: &dyn Service, refusal: Refusal, id: &str) -> (Response, Option<&'static str>) {
    let (mut response, code) = app.refuse(refusal, id);
    if refusal.ends_connection() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    (response, code)
}
