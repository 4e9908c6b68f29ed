//! The remote store over third-party endpoints, as a subject of the conformance suite.

use std::sync::Arc;

use keyloom_dynamodb::Remote;
use keyloom_store::{Read, Store};
use keyloom_testkit::{ManualClock, Subject};
use pollster::block_on;

use crate::foreign::Foreign;
use crate::it::remote::endpoint::{ATTEMPTS_MAX, remote};

/// The remote store over a third-party endpoint, which has a clock of its own.
pub(crate) struct Theirs {
    remote: Arc<Remote>,
    clock: ManualClock,
}

impl Theirs {
    /// A subject without tables. Drops all existing ones, which are from earlier cases: an endpoint
    /// must have none at the start.
    pub(crate) fn emptied(remote: &Arc<Remote>) -> Theirs {
        for table in block_on(remote.list_tables()).unwrap() {
            block_on(remote.drop_table(table)).unwrap();
        }
        Theirs { remote: remote.clone(), clock: ManualClock::new() }
    }
}

impl Subject for Theirs {
    fn store(&self) -> Arc<dyn Store> {
        self.remote.clone()
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn settle(&self) {}
}

/// The remote store over a third-party server of its own.
pub(crate) struct Alone {
    theirs: Theirs,
    _server: Foreign,
}

impl Alone {
    pub(crate) fn on(server: Foreign) -> Alone {
        let remote = Arc::new(remote(&server.url, ATTEMPTS_MAX));
        Alone { theirs: Theirs { remote, clock: ManualClock::new() }, _server: server }
    }
}

impl Subject for Alone {
    fn store(&self) -> Arc<dyn Store> {
        self.theirs.store()
    }

    fn clock(&self) -> &ManualClock {
        self.theirs.clock()
    }

    fn settle(&self) {}
}
