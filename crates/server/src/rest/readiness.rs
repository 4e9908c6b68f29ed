//! Whether a server can read and write its data: `GET /readyz`.

use std::sync::{Arc, Weak};

use keyloom::Error;
use keyloom_store::Engine;

use super::problem::Problem;

/// Checks the engine under the database. A remote store is not checked: the request is public, and each
/// would cost a read.
#[derive(Debug)]
pub(super) struct Readiness {
    /// Weak, so that the engine can be closed.
    engine: Option<Weak<Engine>>,
}

impl Readiness {
    pub(super) fn new(engine: Option<&Arc<Engine>>) -> Readiness {
        Readiness { engine: engine.map(Arc::downgrade) }
    }

    /// Fails if the engine cannot read or cannot write.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let Some(engine) = &self.engine else { return Ok(()) };
        let status = engine.upgrade().ok_or(keyloom_store::Error::Closed).and_then(|e| e.status());
        let failure = status.map_err(Error::Store)?.failure;
        failure.map_or(Ok(()), |failure| Err(Error::Store(failure).into()))
    }
}
