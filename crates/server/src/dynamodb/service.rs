//! Translates HTTP requests into calls of the endpoint, and its answers into responses.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use hyper::Method;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use keyloom_dynamodb::Endpoint;
use keyloom_store::{Clock, Engine};

use super::Credentials;
use super::cors::Cors;
use super::reply::Reply;
use super::sigv4::{self, Denial};
use crate::App;
use crate::app::{Answering, Service};
use crate::console::Console;
use crate::fair::Weight;
use crate::http::edge::Origin;
use crate::http::exchange::{Exchange, LogFields};
use crate::http::host::is_loopback;
use crate::http::metrics::{Metrics, OPEN_METRICS};
use crate::http::receive::receive;
use crate::http::refusal::Refusal;
use crate::http::request_id::RequestIds;
use crate::http::timeout::timeout;
use crate::http::unpack::unpack;
use crate::readiness::{READY, Readiness};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const CHECKSUM: HeaderName = HeaderName::from_static("x-amz-crc32");

/// The code of the service for what may succeed later.
const UNAVAILABLE: &str = "ServiceUnavailable";

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

/// DynamoDB's protocol in front of an [`Endpoint`].
#[derive(Debug)]
pub struct DynamoDb {
    endpoint: Endpoint,
    credentials: Option<Credentials>,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    readiness: Readiness,
    console: Console,
    request_ids: RequestIds,
}

impl DynamoDb {
    /// With credentials, requests must be signed with one of them, at most five minutes from the time of
    /// the clock. Without, any request is accepted.
    pub fn new(
        endpoint: Endpoint,
        credentials: Option<Credentials>,
        clock: Arc<dyn Clock>,
    ) -> DynamoDb {
        let (metrics, request_ids) = (Metrics::new(None, |_| {}), RequestIds::new());
        DynamoDb {
            endpoint,
            credentials,
            clock,
            metrics,
            readiness: Readiness::new(None),
            console: Console::of_tables(),
            request_ids,
        }
    }

    /// Names the engine under the endpoint: its metrics are added, and the server is ready while it is.
    pub fn on_engine(self, engine: &Arc<Engine>) -> DynamoDb {
        let (metrics, readiness) =
            (Metrics::new(Some(engine), |_| {}), Readiness::new(Some(engine)));
        DynamoDb { metrics, readiness, ..self }
    }

    /// Answers a request.
    async fn respond(self: Arc<Self>, exchange: &Exchange, request: Request) -> Response {
        let (head, body) = request.into_parts();
        // Without credentials, any page in a browser of this machine could use the answer.
        let cors = self.credentials.as_ref().and_then(|_| Cors::of(&head));
        if let Some(preflight) = cors.as_ref().and_then(|cors| cors.preflight(&head)) {
            return preflight;
        }
        let mut fields = LogFields::default();
        let mut response = match self.reply(&exchange.origin, &head, body, &mut fields).await {
            Ok(reply) => reply.into(),
            Err(refusal) => Response::from(refusal),
        };
        exchange.note(fields);
        if let Some(cors) = cors {
            cors.allow(response.headers_mut());
        }
        response
    }

    async fn reply(
        self: &Arc<Self>,
        origin: &Origin,
        head: &Parts,
        body: Body,
        fields: &mut LogFields,
    ) -> Result<Reply, Refusal> {
        if self.credentials.is_none() && !is_loopback(&head.headers) {
            return Ok(Reply::json(400, denial_body(&for_another_host())));
        }
        if head.method == Method::GET {
            return Ok(self.health_or_page(origin, head.uri.path(), fields));
        }
        let is_request = head.method == Method::POST && head.uri.path() == "/";
        if !is_request || !is_json(&head.headers) {
            return Ok(unknown_operation());
        }
        // The body is not read unless the request names a known key.
        if let Err(denial) = self.recognize(&head.headers) {
            return Ok(Reply::json(400, denial_body(&denial)));
        }
        let received = receive(origin, body).await?;
        fields.bytes_in = received.bytes.len();
        if let Err(denial) = self.admit(head, &received.bytes) {
            return Ok(Reply::json(400, denial_body(&denial)));
        }
        let received = match head.headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes) {
            None | Some(b"identity") => Some(received),
            Some(b"gzip") => unpack(origin, received).await?,
            Some(_) => None,
        };
        let Some(received) = received else {
            let body = r#"{"__type":"com.amazon.coral.service#SerializationException"}"#;
            return Ok(Reply::json(400, body.to_owned()));
        };
        let target = head.headers.get("x-amz-target").cloned();
        let (service, named, body) = (self.clone(), target.clone(), received.bytes.clone());
        let weight = Weight::of_body(body.len());
        let call = async move { service.endpoint.call(text(named.as_ref()), &body).await };
        let call = origin.edge.pool.run(weight, call);
        let answer = timeout(origin.edge.limits.answer_time, call).await;
        let answer = answer.map_err(|_| Refusal::Overdue)?;
        let target = text(target.as_ref());
        let name = target.rsplit('.').next().filter(|_| self.endpoint.has(target));
        fields.operation = name.map(Into::into);
        Ok(Reply::json(answer.status, answer.body))
    }

    /// Answers GET requests: the health checks, the console and, for loopback clients only, the metrics and the
    /// heat report of strict mode.
    fn health_or_page(&self, origin: &Origin, path: &str, fields: &mut LogFields) -> Reply {
        match path {
            // The service answers the first two with this text.
            "/" | "/ping" | "/healthz" => {
                return Reply::text(200, format!("healthy: {} ", self.endpoint.host()));
            }
            "/readyz" => return self.ready(fields),
            "/console" => return self.console(),
            _ => {}
        }
        let report = match path {
            _ if !origin.ip().is_loopback() => None,
            "/metrics" => Some((OPEN_METRICS, self.metrics.text(&origin.edge))),
            "/heat" => self.endpoint.heat().map(|heat| (HTML, heat.html())),
            "/heat.json" => self.endpoint.heat().map(|heat| (JSON, heat.json())),
            _ => None,
        };
        report.map_or_else(unknown_operation, |(media_type, text)| Reply {
            media_type: Some(media_type),
            ..Reply::text(200, text)
        })
    }

    /// Whether tables can be read and written. The request is public, so only the log has the cause if not.
    fn ready(&self, fields: &mut LogFields) -> Reply {
        let Err(error) = self.readiness.check() else {
            return Reply { media_type: Some(JSON), ..Reply::text(200, READY) };
        };
        let (code, message) =
            (UNAVAILABLE, "The server cannot write its data; its log has the cause.");
        (fields.code, fields.cause) = (Some(code), Some(error.to_string()));
        Reply::json(503, denial_body(&Denial { code, message: message.to_owned() }))
    }

    /// The console. It has no data: it asks for credentials, if there are any, and signs with them.
    fn console(&self) -> Reply {
        let Console { html, policy } = &self.console;
        let policy = HeaderValue::from_str(policy).ok();
        Reply { media_type: Some(HTML), policy, ..Reply::text(200, html.as_str()) }
    }

    fn recognize(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        sigv4::recognize(credentials, self.clock.now().secs(), headers)
    }

    /// Checks the signature, before the body is parsed.
    fn admit(&self, head: &Parts, body: &[u8]) -> Result<(), Denial> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        sigv4::verify(credentials, self.clock.now().secs(), head, body)
    }
}

impl Service for DynamoDb {
    fn answer<'a>(self: Arc<Self>, exchange: &'a Arc<Exchange>, request: Request) -> Answering<'a> {
        Box::pin(self.respond(exchange, request))
    }

    fn is_open(&self) -> bool {
        self.credentials.is_none()
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Clients expect ids in the form of the service, so those of requests are ignored.
    fn request_id(&self, _headers: &HeaderMap) -> String {
        self.request_ids.next()
    }

    fn request_id_header(&self) -> HeaderName {
        REQUEST_ID
    }

    fn refuse(&self, refusal: Refusal, _request_id: &str) -> (Response, Option<&'static str>) {
        // The service has codes for these; its clients retry after them.
        let code = match refusal {
            Refusal::Overdue | Refusal::MemoryFull => UNAVAILABLE,
            Refusal::Panicked => "InternalServerError",
            _ => return (Reply::text(refusal.status().as_u16(), "").into(), None),
        };
        let denial = Denial { code, message: refusal.detail().to_owned() };
        let reply = Reply::json(refusal.status().as_u16(), denial_body(&denial));
        (reply.into(), Some(code))
    }

    /// The checksum covers the bytes as sent, compressed or not.
    fn add_body_headers(&self, headers: &mut HeaderMap, body: &Bytes) {
        headers.insert(CHECKSUM, HeaderValue::from(crc32fast::hash(body)));
    }
}

impl From<DynamoDb> for App {
    fn from(app: DynamoDb) -> App {
        App(Arc::new(app))
    }
}

fn unknown_operation() -> Reply {
    Reply::text(404, "<UnknownOperationException/>\n")
}

/// The text of a header; empty without one.
fn text(value: Option<&HeaderValue>) -> &str {
    value.and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = text(headers.get(CONTENT_TYPE));
    let kind = value.split(';').next().unwrap_or_default().trim();
    matches!(kind, "application/x-amz-json-1.0" | "application/json")
}

fn for_another_host() -> Denial {
    let message = "This server runs without credentials and accepts only requests to loopback \
                   hosts: use 127.0.0.1 or localhost, or start it with credentials.";
    Denial { code: "AccessDeniedException", message: message.to_owned() }
}

/// Removes characters that JSON would escape: only text that a client sent can have them.
fn denial_body(denial: &Denial) -> String {
    let message: String =
        denial.message.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
    let code = denial.code;
    format!(r#"{{"__type":"com.amazon.coral.service#{code}","message":"{message}"}}"#)
}
