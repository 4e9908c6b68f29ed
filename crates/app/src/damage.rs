//! Logs damage that the engine finds in the background.

use std::sync::{Arc, Weak};
use std::time::Duration;

use keyloom_store::{Engine, Status};
use tokio::task::JoinHandle;

/// How often to check.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Watches an engine until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct DamageWatch(JoinHandle<()>);

impl DamageWatch {
    /// Starts watching. Holds only a weak reference, so the engine can be closed meanwhile.
    pub fn start(engine: &Arc<Engine>) -> DamageWatch {
        DamageWatch(tokio::spawn(watch(Arc::downgrade(engine))))
    }
}

impl Drop for DamageWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn watch(engine: Weak<Engine>) {
    let mut known = 0;
    while let Some(engine) = engine.upgrade() {
        let status = engine.status();
        drop(engine);
        if let Ok(status) = status {
            log_new(&status, known);
            known = status.damages;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Logs the last damage if there is more than `known`.
fn log_new(status: &Status, known: u64) {
    if let Some(damage) = status.last_damage.as_deref().filter(|_| status.damages > known) {
        tracing::error!(
            %damage,
            damages = status.damages,
            "the data directory is damaged: run `keyloom scrub` to see where, and, with the server \
             stopped, `keyloom verify --repair` to repair it"
        );
    }
}
