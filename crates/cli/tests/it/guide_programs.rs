//! The examples in Rust that pages show, as parts of programs that run. `guides.rs` compares them.

mod events;
mod readme;
mod requests;

use std::sync::Arc;

use keyloom::{Db, SystemClock};
use keyloom_store::MemoryStore;

/// A new database.
async fn open(model: &str) -> Db {
    Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await.unwrap()
}

/// Runs a program as an asynchronous one does.
fn run(program: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(program);
}
