//! The service of the model in force. A reload replaces it between two requests: those in progress are
//! finished by the one that they began with.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use hyper::header::{HeaderMap, HeaderName};
use tower::{ServiceExt as _, service_fn};

use super::routing::router;
use super::service::RestService;
use crate::app::EdgeHooks;
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

    /// The routes of whatever service there is when a request arrives.
    pub(super) fn routes(self: &Arc<Self>) -> Router {
        let current = self.clone();
        Router::new().fallback_service(service_fn(move |request: Request| {
            let Serving { router, .. } = current.now();
            router.oneshot(request)
        }))
    }

    fn now(&self) -> Serving {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EdgeHooks for Current {
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
        self.first.request_id_header()
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
