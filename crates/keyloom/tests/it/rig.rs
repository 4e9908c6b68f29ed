//! Databases on every store there is.

use std::sync::Arc;

use keyloom::{Db, Options};
use keyloom_store::{Background, Engine, Options as EngineOptions, Reference, Store};
use keyloom_testkit::{ManualClock, SimDisk};

/// Runs a test on each store.
pub(crate) fn each_store(test: impl Fn(Arc<dyn Store>)) {
    test(Arc::new(Reference::new(Arc::new(ManualClock::new()))));
    test(Arc::new(engine(&SimDisk::new(0))));
}

/// An engine on a disk in memory.
pub(crate) fn engine(disk: &SimDisk) -> Engine {
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(ManualClock::new()),
        disk: Arc::new(disk.clone()),
        ..EngineOptions::default()
    };
    Engine::open(std::path::Path::new("/data"), options).expect("the engine opens")
}

/// A database with a clock that stands still.
pub(crate) async fn open(model: &str, store: Arc<dyn Store>) -> Db {
    let options = Options { clock: Arc::new(ManualClock::new()), ..Options::default() };
    Db::open_with(model, store, options).await.expect("the database opens")
}
