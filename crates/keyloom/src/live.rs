//! Live reads: a database as of a moment, and again whenever what was read of it has changed.
//!
//! ```
//! # use std::collections::BTreeMap;
//! # use std::sync::Arc;
//! # use keyloom::Db;
//! # use keyloom_store::{MemoryStore, SystemClock};
//! # let model = "[entity.task]\nfields.title = \"text\"\nlist.all = {}\n";
//! # pollster::block_on(async {
//! # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
//! # let db = Db::open(model, store).await?;
//! let mut live = db.live();
//! let moment = live.next().await?;
//! assert_eq!(moment.db.list("task", "all").read().await?.items.len(), 0);
//! db.create("task", &BTreeMap::from([("title", "Write it down")])).await?;
//! // Ready as soon as the list has changed.
//! let moment = live.next().await?;
//! assert_eq!(moment.db.list("task", "all").read().await?.items.len(), 1);
//! # Ok::<(), keyloom::Error>(())
//! # }).expect("the example runs");
//! ```
//!
//! Reads of a moment note what they depend on ([`keyloom_query::Dependencies`]). One caller at a time
//! reads the change feed for all live reads of the process (`feed.rs`) and looks up whom a change
//! affects (`hub.rs`); nobody else does anything. Whoever follows the feed itself ([`Changes`]) has what was
//! read for them (`listeners.rs`). There is no queue: who is slow reads later, and less
//! often.

mod alarm;
mod changes;
mod feed;
mod follow;
mod hub;
mod listeners;
mod pace;

pub use changes::Changes;
pub use follow::{Live, Moment};

pub(crate) use hub::Hub;
