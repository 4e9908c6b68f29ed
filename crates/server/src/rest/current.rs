//! The service of the model in force. A reload replaces it between two requests: those in progress are
//! finished by the one that they began with.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::header::{CONTENT_ENCODING, HeaderMap, HeaderName};
use tower::ServiceExt as _;
use tower_http::decompression::RequestDecompression;

use super::routing::router;
use super::service::{REQUEST_ID, RestService};
use crate::app::{Answering, Service};
use crate::http::metrics::Metrics;
use crate::http::refusal::Refusal;

/// The service of the model in force.
#[derive(Debug)]
pub(super) struct Current {
    /// The one that it began with. Metrics and the signal to stop are the same for all.
    first: Arc<RestService>,
    now: RwLock<Serving>,
}

#[derive(Clone, Debug)]
struct Serving {
    service: Arc<RestService>,
    router: Router,
}

impl Serving {
    fn new(service: Arc<RestService>) -> Serving {
        Serving { router: router(service.clone()), service }
    }
}

impl Current {
    pub(super) fn new(service: Arc<RestService>) -> Current {
        Current { first: service.clone(), now: RwLock::new(Serving::new(service)) }
    }

    /// Answers requests from now on with another service.
    pub(super) fn replace(&self, service: RestService) {
        let serving = Serving::new(Arc::new(service));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = serving;
    }

    /// The service that it began with.
    pub(super) fn first(&self) -> &RestService {
        &self.first
    }

    fn now(&self) -> Serving {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Service for Current {
    fn answer(self: Arc<Self>, request: Request) -> Answering {
        let Serving { router, .. } = self.now();
        Box::pin(async move {
            // Its own layer would box the body of every request, also of those that are not compressed.
            let is_packed = request.headers().contains_key(CONTENT_ENCODING);
            let Ok(response) = match is_packed {
                true => {
                    let unpacked = RequestDecompression::new(router).oneshot(request).await;
                    unpacked.map(|response| response.map(Body::new))
                }
                false => router.oneshot(request).await,
            };
            response
        })
    }

    fn is_open(&self) -> bool {
        self.now().service.is_open()
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

    fn refuse(&self, refusal: Refusal, request_id: &str) -> Response {
        self.first.refuse(refusal, request_id)
    }

    fn log_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        self.now().service.log_path(path)
    }

    fn stop(&self) {
        self.first.stop();
    }
}
