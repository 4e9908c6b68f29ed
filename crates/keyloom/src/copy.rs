//! Copies of a whole database into another store: from a directory to DynamoDB, back, or by way of
//! anything that implements [`CopyFrom`], such as a file.
//!
//! Stores differ in how posting lists and counters are kept, so a copy does not move rows as they are.
//! It moves *portable rows*: entities with their versions, ordinals and tombstones, and the system rows
//! that mean the same in every store (`portable.rs`). The target derives everything else from them, by
//! the functions that every write uses: `rows(image)`, `postings().of(image)`, `counters(image)`.
//!
//! ```text
//! begin    table, model and copy record      the table cannot be opened from here on
//! fill     streams of portable rows          each batch in one transaction with its position
//!          counters and posting lists        once, from all entities, where the store does not add
//! check    source and target are compared    by number and content of all portable rows
//!          everything derived is audited     recomputed from all entities (`audit.rs`)
//! finish   the copy record is removed        now it can be opened
//! ```
//!
//! ```
//! # use std::sync::Arc;
//! # use keyloom::copy::{CopyFrom, CopyProgress, CopyStep, StoreSource, StoreTarget};
//! # use keyloom::{Db, Options};
//! # use keyloom_store::{MemoryStore, SystemClock};
//! # use serde_json::json;
//! # let model = "[entity.task]\nfields.name = \"text\"";
//! # pollster::block_on(async {
//! # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
//! # let other = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
//! # let db = Db::open(model, store.clone()).await?;
//! # let task = db.create("task", &json!({ "name": "cook" })).await?;
//! let source = StoreSource::open(store, Options::default(), None).await?;
//! let target = StoreTarget::begin(&source, other.clone(), Options::default(), 4).await?;
//! let report = |progress: CopyProgress| match progress.step {
//!     CopyStep::Copying => println!("{} rows", progress.rows),
//!     _ => {}
//! };
//! target.fill(&source, &report).await?;
//! let summary = target.check(&source, &|_| {}).await?;
//! assert_eq!(summary.entities(), 1);
//! target.finish().await?;
//! let copy = Db::open(source.heading().model(), other).await?;
//! assert!(copy.get("task", task.id()).await?.is_some());
//! # Ok::<(), keyloom::Error>(())
//! # }).expect("the example runs");
//! ```
//!
//! A copy that was interrupted continues where its streams have stopped: a batch and the position of its
//! stream are one transaction, on condition that the position is as it was read, so no row is written
//! twice, and a process that was paused cannot write into a table that is already in use.
//!
//! What belongs to one store is not copied: permits, heartbeats, leases, and checkpoints of consumers,
//! which are positions in the feed of that store. Consumers begin at the end of the new feed, so nothing
//! that was copied is delivered again; let them finish in the source first.

mod aggregate;
mod audit;
mod from;
mod heading;
mod lanes;
mod portable;
mod position;
mod progress;
mod record;
mod source;
mod stream;
mod summary;
mod target;

pub use from::{CopyFrom, CopyPage, CopyRow};
pub use heading::Heading;
pub use keyloom_store::Segment;
pub use progress::{CopyProgress, CopyStep, OnProgress};
pub use source::StoreSource;
pub use summary::{Summary, Tally, summarize};
pub use target::StoreTarget;
