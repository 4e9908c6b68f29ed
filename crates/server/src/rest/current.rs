//! The service of the model in force. A reload replaces it between two requests: those in progress are
//! finished by the one that they began with. Streams never finish: they end, and their clients connect again.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::header::{CONTENT_ENCODING, HeaderMap, HeaderName};
use tower::{ServiceExt as _, service_fn};
use tower_http::decompression::RequestDecompression;

use super::service::{REQUEST_ID, RestService};
use crate::app::{Answering, Service};
use crate::http::exchange::Exchange;
use crate::http::metrics::Metrics;
use crate::http::refusal::Refusal;

/// The service of the model in force.
#[derive(Debug)]
pub(super) struct Current {
    /// The one that it began with. Metrics and the signal to stop are the same for all.
    first: Arc<RestService>,
    now: RwLock<Arc<RestService>>,
}

impl Current {
    pub(super) fn new(service: Arc<RestService>) -> Current {
        Current { first: service.clone(), now: RwLock::new(service) }
    }

    /// Answers requests from now on with another service, and ends the streams of the one before.
    pub(super) fn replace(&self, service: RestService) {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *now, Arc::new(service));
        before.state.end_streams();
        // Whoever stops the server at this moment has set this, or finds the new service.
        if *self.first.state.is_stopped.borrow() {
            now.state.end_streams();
        }
    }

    /// The service that it began with.
    pub(super) fn first(&self) -> &RestService {
        &self.first
    }

    fn now(&self) -> Arc<RestService> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Service for Current {
    fn answer<'a>(self: Arc<Self>, exchange: &'a Arc<Exchange>, request: Request) -> Answering<'a> {
        let service = self.now();
        Box::pin(async move {
            if !request.headers().contains_key(CONTENT_ENCODING) {
                return service.route(exchange, request).await;
            }
            let unpacked = service_fn(async |request: Request<_>| {
                Ok(service.route(exchange, request.map(Body::new)).await)
            });
            let answered = RequestDecompression::new(unpacked).oneshot(request).await;
            let Ok::<_, Infallible>(response) = answered;
            response.map(Body::new)
        })
    }

    fn is_open(&self) -> bool {
        self.now().is_open()
    }

    fn metrics(&self) -> &Metrics {
        self.first.metrics()
    }

    fn request_id(&self, headers: &HeaderMap) -> String {
        self.first.request_id(headers)
    }

    fn request_id_header(&self) -> HeaderName {
        REQUEST_ID
    }

    fn refuse(&self, refusal: Refusal, request_id: &str) -> (Response, Option<&'static str>) {
        self.first.refuse(refusal, request_id)
    }

    fn log_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        self.now().log_path(path)
    }

    fn stop(&self) {
        self.first.state.is_stopped.send_replace(true);
        self.now().state.end_streams();
    }
}
