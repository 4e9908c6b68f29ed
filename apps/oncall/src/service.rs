//! What the parts of the service share.

use std::sync::{Arc, OnceLock};

use keyloom::events::Failure;
use keyloom::{Clock, Entropy};

use crate::transport::Transport;

/// The model.
pub const MODEL: &str = include_str!("../model.toml");

/// What the parts of the service share.
#[derive(Debug)]
pub struct Service {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of secrets.
    pub entropy: Arc<dyn Entropy>,
    /// Sends messages.
    pub transport: Arc<dyn Transport>,
    /// The public URL, such as `https://oncall.example`; set once the service listens.
    pub url: Arc<OnceLock<String>>,
}

impl Service {
    pub(crate) fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now().0).unwrap_or(i64::MAX)
    }

    /// The URL of a page.
    pub(crate) fn address(&self, path: &str) -> Result<String, Failure> {
        let url =
            self.url.get().ok_or_else(|| Failure::new("The service is not listening yet."))?;
        Ok(format!("{}{path}", url.trim_end_matches('/')))
    }
}
