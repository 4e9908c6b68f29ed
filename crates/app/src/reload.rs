//! Reloading certificates and access keys on SIGHUP.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::console::print;

/// Catches SIGHUP, which would otherwise end the process.
pub struct Hangup {
    signal: Signal,
}

impl Hangup {
    /// Catches the signal from now on.
    ///
    /// # Errors
    ///
    /// If signals cannot be caught.
    pub fn catch() -> Result<Hangup, String> {
        let signal = signal(SignalKind::hangup());
        Ok(Hangup { signal: signal.map_err(|error| format!("cannot catch signals: {error}."))? })
    }

    /// Calls `reload` on each signal, until the task is aborted. Failures are logged.
    pub fn reload<F: Future<Output = Result<(), String>> + Send>(
        mut self,
        reload: impl Fn() -> F + Send + 'static,
    ) -> JoinHandle<()> {
        tokio::spawn(async move {
            while self.signal.recv().await.is_some() {
                match reload().await {
                    Ok(()) => print("Reloaded certificates and access keys."),
                    Err(error) => {
                        tracing::error!(%error, "reload failed, keeping the previous configuration")
                    }
                }
            }
        })
    }
}
