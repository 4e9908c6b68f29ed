//! What reads cost: a record of how each page was found, and of every read of the store for it.
//!
//! ```
//! # use std::sync::Arc;
//! # use keyloom_store::{MemoryStore, SystemClock};
//! # let model = "[entity.task]\nfields.tags = \"tags = {}\"\nlist.all = {}\n";
//! # pollster::block_on(async {
//! # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
//! # let db = keyloom::Db::open(model, store).await?;
//! let (watched, explained) = db.explained();
//! watched.list("task", "all").tag("priority", "high").read().await?;
//! for explanation in explained.explanations() {
//!     print!("{}", explanation.plan);
//! }
//! let rows: u64 = explained.reads().iter().map(|read| read.rows).sum();
//! # assert!(rows > 0);
//! # Ok::<(), keyloom::Error>(())
//! # }).expect("the example runs");
//! ```

mod rows;
mod watch;
mod write;

use std::fmt;
use std::sync::Arc;

pub use keyloom_query::{Considered, Explanation, ListReads, OneByOne, Plan, StoreRead};

use crate::db::Db;

pub(crate) use watch::Watch;

pub use rows::EntityRow;
pub use write::{RowWrite, Writes};

/// The record of a database that [`Db::explained`] returned.
///
/// The [module](crate::explain) has an example.
#[derive(Clone)]
pub struct Explained(Arc<Watch>);

impl Db {
    /// Returns the same database, which records everything that is read of it and how pages of lists
    /// were found.
    ///
    /// The [module](crate::explain) has an example.
    pub fn explained(&self) -> (Db, Explained) {
        let watch = Arc::new(Watch::new(self.shared.store.clone()));
        let db = Db { watch: Some(watch.clone()), ..self.clone() };
        (db, Explained(watch))
    }
}

impl Explained {
    /// Every request to the store so far, in order, without those that explaining took.
    pub fn reads(&self) -> Vec<StoreRead> {
        self.0.store.reads()
    }

    /// How each page of a list that was read so far was found.
    pub fn explanations(&self) -> Vec<Explanation> {
        self.0.explanations()
    }
}

impl fmt::Debug for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Explained").field("reads", &self.reads()).finish_non_exhaustive()
    }
}
