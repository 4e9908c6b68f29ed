//! From an HTTP request to the endpoint and back.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request};
use keyloom_dynamodb::Endpoint;
use keyloom_store::Clock;

use super::Credentials;
use super::host;
use super::reply::Reply;
use super::sigv4::{self, Denial};
use crate::App;
use crate::app::{Answer, Service};
use crate::fair::{Pool, Weight};
use crate::request_id::RequestIds;

/// DynamoDB's protocol in front of an [`Endpoint`].
#[derive(Debug)]
pub struct DynamoDb {
    endpoint: Endpoint,
    credentials: Option<Credentials>,
    clock: Arc<dyn Clock>,
    request_ids: RequestIds,
    pool: Pool,
}

impl DynamoDb {
    /// With credentials, requests must be signed with one of them, not longer than five minutes
    /// ago by the clock. Without, any request is taken.
    pub fn new(
        endpoint: Endpoint,
        credentials: Option<Credentials>,
        clock: Arc<dyn Clock>,
    ) -> DynamoDb {
        let (request_ids, pool) = (RequestIds::new(), Pool::default());
        DynamoDb { endpoint, credentials, clock, request_ids, pool }
    }

    async fn reply<'a>(&self, request: &Request<Bytes>, request_id: &'a str) -> Reply<'a> {
        let reply = |status: u16, body: String, is_json: bool| Reply {
            status,
            body: body.into_bytes(),
            request_id,
            is_json,
        };
        if self.credentials.is_none() && !host::is_loopback(request.headers()) {
            return reply(400, denial_body(&for_another_host()), true);
        }
        if request.method() == Method::GET {
            let region = "healthy: dynamodb.us-east-1.amazonaws.com ";
            return reply(200, region.to_owned(), false);
        }
        if request.method() != Method::POST || !is_json(request.headers()) {
            return reply(404, "<UnknownOperationException/>\n".to_owned(), false);
        }
        if let Err(denial) = self.admit(request) {
            return reply(400, denial_body(&denial), true);
        }
        let target = request.headers().get("x-amz-target");
        let target = target.and_then(|target| target.to_str().ok()).unwrap_or_default();
        let (endpoint, target) = (self.endpoint.clone(), target.to_owned());
        let body = request.body().clone();
        let weight = Weight::of_body(body.len());
        let answer = async move { endpoint.call(&target, &body).await };
        let answer = self.pool.run(weight, answer).await;
        reply(answer.status, answer.body, true)
    }

    /// Checks the signature, before anything else looks at the request.
    fn admit(&self, request: &Request<Bytes>) -> Result<(), Denial> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        sigv4::verify(credentials, self.clock.now().secs(), request)
    }
}

impl Service for DynamoDb {
    fn is_open(&self) -> bool {
        self.credentials.is_none()
    }

    fn answer(self: Arc<Self>, request: Request<Bytes>) -> Answer {
        Box::pin(async move {
            let request_id = self.request_ids.next();
            let reply = self.reply(&request, &request_id).await;
            reply.response(request.headers())
        })
    }
}

impl From<DynamoDb> for App {
    fn from(service: DynamoDb) -> App {
        App { service: Arc::new(service) }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    matches!(kind, "application/x-amz-json-1.0" | "application/json")
}

fn for_another_host() -> Denial {
    let message = "This server takes requests without credentials, and so only those for this \
                   machine: use the host 127.0.0.1 or localhost, or start it with credentials.";
    Denial { code: "AccessDeniedException", message: message.to_owned() }
}

/// None of the texts of a denial needs an escape, except those that quote what a client sent.
fn denial_body(denial: &Denial) -> String {
    let message: String =
        denial.message.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
    let code = denial.code;
    format!(r#"{{"__type":"com.amazon.coral.service#{code}","message":"{message}"}}"#)
}
