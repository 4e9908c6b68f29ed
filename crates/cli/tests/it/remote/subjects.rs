//! The remote store as a subject of the conformance suite.

use std::sync::Arc;

use keyloom_dynamodb::Remote;
use keyloom_store::{MemoryStore, Store};
use keyloom_testkit::{ManualClock, Subject};

use super::endpoint::{ATTEMPTS_MAX, OwnEndpoint, remote};

/// The remote store over our own endpoint.
pub(crate) struct Ours {
    // Before the endpoint, so that its connections are closed when the endpoint stops.
    remote: Arc<Remote>,
    store: Arc<MemoryStore>,
    clock: ManualClock,
    _endpoint: OwnEndpoint,
}

impl Ours {
    pub(crate) fn new() -> Ours {
        let clock = ManualClock::new();
        let endpoint = OwnEndpoint::start(&clock);
        let remote = Arc::new(remote(&endpoint.url, ATTEMPTS_MAX));
        Ours { remote, store: endpoint.store.clone(), clock, _endpoint: endpoint }
    }
}

impl Subject for Ours {
    fn store(&self) -> Arc<dyn Store> {
        self.remote.clone()
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn settle(&self) {
        self.store.expire();
    }
}
