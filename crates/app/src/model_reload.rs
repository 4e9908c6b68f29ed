//! Replacing the model that is served, when the process is told to read it again.

use std::fmt;
use std::sync::Arc;

use keyloom::events::Handlers;
use keyloom::{Db, Error};
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
        // Everything that can fail without the data comes before the change.
        if let Some(handlers) = &handlers {
            let model =
                keyloom_model::check(&text).map_err(|error| Error::Model(error).to_string())?;
            handlers.check_model(&model).map_err(|error| error.to_string())?;
        }
        let changed = self.db.change_model(&text).await;
        changed.map_err(|error| format!("the model stays as it was: {error}"))?;
        (self.serve)(vec![], self.options.clone())?;
        let mut workers = self.workers.lock().await;
        if let Some(workers) = workers.take() {
            workers.stop().await;
        }
        if let Some(handlers) = handlers {
            *workers = Some(Workers::start(&self.db, handlers).await);
        }
        *served = text;
        print("Serving the changed model.");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use keyloom::events::Effects;
    use keyloom_store::{MemoryStore, SystemClock};

    use super::*;
    use crate::operations::block_on;

    const OLD: &str = "[entity.note]\nfields.text = \"text\"\n";
    const CALLING: &str = "[entity.note]\nfields.text = \"text\"\n[on.note]\ninsert = \"greet\"\n";

    /// It was found out only after the model had been changed and the workers had been stopped: then no worker ran
    /// any more, for what the old model declared either.
    #[test]
    fn a_model_whose_handlers_are_missing_changes_nothing() {
        block_on(refuse_a_model_without_handlers()).unwrap();
    }

    async fn refuse_a_model_without_handlers() -> Result<(), String> {
        let db = Db::open(OLD, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await.unwrap();
        let greet = || Handlers::new().event("greet", |_| Ok(Effects::new()));
        let workers = Workers::start(&db, greet()).await;
        let has_code = Arc::new(AtomicBool::new(false));
        let has = has_code.clone();
        let read = move || {
            let has = has.load(Ordering::SeqCst);
            let handlers = if has { greet() } else { Handlers::new() };
            Ok(ReadModel { text: CALLING.to_owned(), handlers: Some(handlers) })
        };
        let reload = ModelReload {
            source: ModelSource::new(read),
            db: db.clone(),
            serve: Box::new(|_, _| Ok(())),
            options: RestOptions::default(),
            workers: Arc::new(Mutex::new(Some(workers))),
            text: Mutex::new(OLD.to_owned()),
        };
        for attempt in [reload.run().await, reload.run().await] {
            let error = attempt.unwrap_err();
            assert!(error.contains("no handler has this name"), "{error}");
            assert_eq!(db.model_text().await.unwrap(), OLD);
            assert!(reload.workers.lock().await.is_some());
        }
        has_code.store(true, Ordering::SeqCst);
        reload.run().await.unwrap();
        assert_eq!(db.model_text().await.unwrap(), CALLING);
        let workers = reload.workers.lock().await.take();
        workers.unwrap().stop().await;
        Ok(())
    }
}
