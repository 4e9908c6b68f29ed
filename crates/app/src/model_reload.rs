//! Replacing the model that is served, when the process is told to read it again.

use std::fmt;
use std::sync::Arc;

use keyloom::Db;
use keyloom::events::Handlers;
use keyloom_server::{OwnRoute, RestOptions};
use tokio::sync::Mutex;

use crate::console::print;
use crate::worker::Workers;

/// Where a model comes from, and comes from again when it is reloaded.
#[derive(Clone)]
pub struct ModelSource {
    read: Arc<dyn Fn() -> Result<ReadModel, String> + Send + Sync>,
}

/// A model that was read.
#[derive(Debug)]
pub struct ReadModel {
    /// Its text.
    pub text: String,
    /// The handlers of its events.
    pub handlers: Option<Handlers>,
}

impl ModelSource {
    /// A source that this function reads. Its errors say what is wrong and how to fix it.
    pub fn new(
        read: impl Fn() -> Result<ReadModel, String> + Send + Sync + 'static,
    ) -> ModelSource {
        ModelSource { read: Arc::new(read) }
    }
}

impl fmt::Debug for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSource").finish_non_exhaustive()
    }
}

/// The workers that run now, if there are any.
pub(crate) type RunningWorkers = Arc<Mutex<Option<Workers>>>;

/// Serves the model that a database has, with these routes and options.
pub(crate) type ServeAgain =
    Box<dyn Fn(Vec<OwnRoute>, RestOptions) -> Result<(), String> + Send + Sync>;

/// Replaces the model that is served.
pub(crate) struct ModelReload {
    pub(crate) source: ModelSource,
    pub(crate) db: Db,
    pub(crate) serve: ServeAgain,
    pub(crate) options: RestOptions,
    pub(crate) workers: RunningWorkers,
    /// The text that is served.
    pub(crate) text: Mutex<String>,
}

impl ModelReload {
    /// Reads the model, and serves it if it has changed. If it is invalid or refused, everything stays as
    /// it is.
    pub(crate) async fn run(&self) -> Result<(), String> {
        let ReadModel { text, handlers } = (self.source.read)()?;
        let mut served = self.text.lock().await;
        if *served == text {
            return Ok(());
        }
        let changed = self.db.change_model(&text).await;
        changed.map_err(|error| format!("the model stays as it was: {error}"))?;
        (self.serve)(vec![], self.options.clone())?;
        let mut workers = self.workers.lock().await;
        if let Some(workers) = workers.take() {
            workers.stop().await;
        }
        if let Some(handlers) = handlers {
            handlers.check(&self.db).map_err(|error| error.to_string())?;
            *workers = Some(Workers::start(&self.db, handlers).await);
        }
        *served = text;
        print("Serving the changed model.");
        Ok(())
    }
}
