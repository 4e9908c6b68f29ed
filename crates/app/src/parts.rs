//! What an application adds to its model.

use keyloom::events::Handlers;
use keyloom_server::{OwnPage, OwnRoute};

/// What an application adds to its model.
#[derive(Debug, Default)]
pub struct Parts {
    /// Routes in addition to those of the model.
    pub routes: Vec<OwnRoute>,
    /// Operations of the model that are not served, such as `change_search`: the application has its own
    /// rules for what they would do.
    pub closed: &'static [&'static str],
    /// Event handlers and job runners. Without them, no events are handled and no jobs run.
    pub handlers: Option<Handlers>,
    /// Pages that are served without authentication.
    pub pages: Vec<OwnPage>,
}
