//! Replacing the model that is served, when the process is told to read it again, or a command changes it.

use std::fmt;
use std::sync::Arc;

use keyloom::events::Handlers;
use keyloom::{Db, Error};
use keyloom_model::Model;
use keyloom_server::{OwnRoute, RestOptions};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::console::print;
use crate::worker::Workers;

/// Checks that a model can be served, and returns the handlers of its events.
type Prepare = dyn Fn(&Model) -> Result<Option<Handlers>, String> + Send + Sync;

/// Where a model comes from, and comes from again when it is reloaded.
#[derive(Clone)]
pub struct ModelSource {
    read: Arc<dyn Fn() -> Result<String, String> + Send + Sync>,
    prepare: Arc<Prepare>,
}

impl ModelSource {
    /// A source whose text `read` reads. `prepare` checks that a model can be served, also one that comes from
    /// elsewhere, and returns the handlers of its events. Their errors say what is wrong and how to fix it.
    pub fn new(
        read: impl Fn() -> Result<String, String> + Send + Sync + 'static,
        prepare: impl Fn(&Model) -> Result<Option<Handlers>, String> + Send + Sync + 'static,
    ) -> ModelSource {
        ModelSource { read: Arc::new(read), prepare: Arc::new(prepare) }
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
    pub(crate) texts: Mutex<ModelTexts>,
}

/// The model of a server, as commands change it.
pub struct ServedModel {
    /// None if the model is part of the program.
    reload: Option<Arc<ModelReload>>,
    /// Of the server. Commands run on one of their own, which ends with them.
    runtime: Handle,
}

impl ServedModel {
    /// The model of the server that runs on this runtime.
    pub(crate) fn of(reload: Option<Arc<ModelReload>>) -> ServedModel {
        ServedModel { reload, runtime: Handle::current() }
    }

    /// Serves another model, unless it is served already.
    pub(crate) async fn replace(&self, text: &str) -> Result<(), String> {
        let Some(reload) = self.reload.clone() else {
            return Err(
                "the model is part of the program that serves it: change it there.".to_owned()
            );
        };
        let text = text.to_owned();
        let changed = self.runtime.spawn(async move { reload.replace(&text).await });
        changed.await.map_err(|_| "the server is stopping: try again.".to_owned())?
    }
}

/// The texts of the models of a server.
pub(crate) struct ModelTexts {
    /// That of the model that is served.
    served: String,
    /// What the source had when it was read last. It differs if the model was changed by a command.
    source: String,
}

impl ModelTexts {
    /// The model of a server that starts.
    pub(crate) fn of(text: &str) -> ModelTexts {
        ModelTexts { served: text.to_owned(), source: text.to_owned() }
    }
}

impl ModelReload {
    /// Reads the model again, and serves it if it has changed since it was read last. If it is invalid or refused,
    /// everything stays as it is.
    pub(crate) async fn run(&self) -> Result<(), String> {
        let text = (self.source.read)()?;
        let mut texts = self.texts.lock().await;
        // A signal for another reason must not undo what a command has changed.
        if texts.source != text {
            self.change(&text, &mut texts).await?;
            texts.source = text;
        }
        Ok(())
    }

    /// Serves a model that does not come from the source.
    pub(crate) async fn replace(&self, text: &str) -> Result<(), String> {
        let mut texts = self.texts.lock().await;
        self.change(text, &mut texts).await
    }

    /// Serves a model, unless it is served already. Everything that can fail without the data comes before the change.
    async fn change(&self, text: &str, texts: &mut ModelTexts) -> Result<(), String> {
        if texts.served == text {
            return Ok(());
        }
        let model =
            keyloom_model::check(text).map_err(|errors| Error::Model(errors).to_string())?;
        let handlers = (self.source.prepare)(&model)?;
        if let Some(handlers) = &handlers {
            handlers.check_model(&model).map_err(|error| error.to_string())?;
        }
        let changed = self.db.change_model(text).await;
        changed.map_err(|error| format!("the model stays as it was: {error}"))?;
        (self.serve)(vec![], self.options.clone())?;
        let mut workers = self.workers.lock().await;
        if let Some(workers) = workers.take() {
            workers.stop().await;
        }
        if let Some(handlers) = handlers {
            *workers = Some(Workers::start(&self.db, handlers).await);
        }
        text.clone_into(&mut texts.served);
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
        let prepare = move |_: &Model| {
            let has = has.load(Ordering::SeqCst);
            Ok(Some(if has { greet() } else { Handlers::new() }))
        };
        let reload = ModelReload {
            source: ModelSource::new(|| Ok(CALLING.to_owned()), prepare),
            db: db.clone(),
            serve: Box::new(|_, _| Ok(())),
            options: RestOptions::default(),
            workers: Arc::new(Mutex::new(Some(workers))),
            texts: Mutex::new(ModelTexts::of(OLD)),
        };
        for attempt in [reload.run().await, reload.replace(CALLING).await] {
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
