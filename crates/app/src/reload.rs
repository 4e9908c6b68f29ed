//! SIGHUP: what a server reads again while it runs.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::console::print;

/// SIGHUP, which ends a process that does not catch it.
pub struct Hangup {
    signal: Signal,
}

impl Hangup {
    /// Catches it from now on.
    ///
    /// # Errors
    ///
    /// If signals cannot be caught.
    pub fn catch() -> Result<Hangup, String> {
        let signal = signal(SignalKind::hangup());
        Ok(Hangup { signal: signal.map_err(|error| format!("cannot catch signals: {error}."))? })
    }

    /// Reloads each time that it comes, until the task is aborted. A failure leaves things as they
    /// were.
    pub fn reload<F: Future<Output = Result<(), String>> + Send>(
        mut self,
        reload: impl Fn() -> F + Send + 'static,
    ) -> JoinHandle<()> {
        tokio::spawn(async move {
            while self.signal.recv().await.is_some() {
                match reload().await {
                    Ok(()) => print("Reloaded certificates and access keys."),
                    Err(error) => {
                        tracing::error!(%error, "cannot reload all, going on with what was before")
                    }
                }
            }
        })
    }
}
