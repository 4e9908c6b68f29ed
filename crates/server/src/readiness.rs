//! Whether a server can read and write its data: `GET /readyz`, the same for both apps. Whether it is up, `GET
//! /healthz`, is for each app to say: it answers.

use std::sync::{Arc, Weak};

use keyloom_store::{Engine, Error};

/// The body of the response of a server that is ready.
pub(crate) const READY: &str = r#"{"status":"ready"}"#;

/// Checks the engine under an app. A remote store is not checked: the request is public, and each would cost
/// a read.
#[derive(Debug)]
pub(crate) struct Readiness {
    /// Weak, so that the engine can be closed.
    engine: Option<Weak<Engine>>,
}

impl Readiness {
    pub(crate) fn new(engine: Option<&Arc<Engine>>) -> Readiness {
        Readiness { engine: engine.map(Arc::downgrade) }
    }

    /// Fails if the engine cannot read or cannot write.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Some(engine) = &self.engine else { return Ok(()) };
        let status = engine.upgrade().ok_or(Error::Closed)?.status()?;
        status.failure.map_or(Ok(()), Err)
    }
}
