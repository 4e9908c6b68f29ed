//! Whether a server can do its work: `GET /readyz`.

use std::sync::{Arc, Weak};

use keyloom::Error;
use keyloom_store::Engine;

use super::problem::Problem;

/// Looks at the engine under the database. A store elsewhere is not asked: anybody can make this
/// request, and each would cost a read.
#[derive(Debug)]
pub(super) struct Readiness {
    /// Whoever closes the engine does not wait for this.
    engine: Option<Weak<Engine>>,
}

impl Readiness {
    pub(super) fn new(engine: Option<&Arc<Engine>>) -> Readiness {
        Readiness { engine: engine.map(Arc::downgrade) }
    }

    /// A problem if nothing can be read, or nothing can be written.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let Some(engine) = &self.engine else { return Ok(()) };
        let status = engine.upgrade().ok_or(keyloom_store::Error::Closed).and_then(|e| e.status());
        let failure = status.map_err(Error::Store)?.failure;
        failure.map_or(Ok(()), |failure| Err(Error::Store(failure).into()))
    }
}
