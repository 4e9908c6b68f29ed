//! Tables of items with DynamoDB's semantics.
//!
//! A [`Store`] holds tables of [`Item`](keyloom_value::Item)s and their secondary indexes, supports
//! conditional writes and transactions, answers queries in pages, and has a change feed. This crate
//! has two:
//!
//! - [`Engine`] stores them in a directory: a write-ahead log for durability, a tree for reading. A
//!   write is acknowledged when it is durable; a reader has a snapshot and never waits for a writer.
//! - [`MemoryStore`] stores them in memory and scans every item for every answer. It is obviously
//!   correct: the reference for comparisons, and good enough for tests.
//!
//! Besides items, a table can have [`Sets`] of ordinals, which are changed in the same
//! transactions, and columns ([`ColumnSpec`]) that sort ordinals. Not every store has them: see
//! [`Read::sets`]. Nor can every store read items through an index in one call: see
//! [`Read::indexed_items`].
//!
//! Requests are plain data ([`Put`], [`Query`], [`TransactWrite`], …), and so are table definitions
//! ([`TableSpec`]). An invalid request is refused with an [`Invalid`] that names the rule.
//!
//! ```
//! use keyloom_store::{Engine, KeySchema, KeyType, Options, Put, Query, Read, Store};
//! use keyloom_store::{TableName, TableSpec};
//! use keyloom_value::{Item, KeyCondition, KeyTest, Value};
//! use pollster::block_on; // Any executor will do.
//!
//! # let directory = std::env::temp_dir().join(format!("keyloom-doc-{}", std::process::id()));
//! let engine = Engine::open(&directory, Options::default())?;
//! let readings = TableName::new("readings")?;
//! let key = KeySchema::partition("sensor", KeyType::S).and_sort("at", KeyType::N);
//! block_on(engine.create_table(TableSpec::new(readings.clone(), key)))?;
//!
//! for at in [9, 10, 11] {
//!     let reading = Item::from([("sensor", Value::from("roof")), ("at", Value::from(at))]);
//!     block_on(engine.put(Put::new(&readings, reading)))?;
//! }
//! let late = KeyCondition::equal("sensor", "roof").and("at", KeyTest::Greater(Value::from(9)));
//! let page = block_on(engine.query(Query::new(&readings, late)))?;
//! assert_eq!(page.count, 2);
//! engine.close()?;
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it costs
//!
//! A get is one descent of the tree; a page of a query is one descent and a scan. A write costs its
//! share of a sync: many concurrent writers are much faster than one. Indexes are written with
//! their items, in the same commit, and an index that projects all attributes stores a second copy
//! of them. A snapshot keeps its pages on disk while it is held, and slows down writes during a
//! checkpoint.
//!
//! An [`Engine`] reads on the calling thread. A caller with few threads for many readers can poll
//! them in time slices ([`Slice`]): every call begins with a [`yield_point`], and none parks while
//! it holds a view, so waiting for a turn does not keep old pages alive.
//!
//! This crate knows no entities and parses no expressions. Clock and disk are parameters: nothing
//! here accesses the system's own.

mod answer;
mod change;
mod check;
mod clock;
mod column;
mod decide;
mod direction;
mod directory_error;
mod disk;
mod engine;
mod error;
mod index;
mod indexed;
mod invalid;
mod limits;
mod members;
mod memory;
mod names;
mod numbers;
mod real_disk;
mod request;
mod returned;
mod segment;
mod set;
mod signal;
mod slice;
mod store;
mod table;
mod ttl;
mod validate;

pub use answer::Answer;
pub use change::{Cause, Change, ChangePage, FeedStart, ReadChanges, SeqNo, Shard};
pub use clock::{Clock, SystemClock, Time};
pub use column::{Cell, ColumnPart, ColumnSpec, ColumnValue, ReadColumn};
pub use direction::Direction;
pub use directory_error::DirectoryError;
pub use disk::{Disk, DiskFile, OpenMode};
pub use engine::{
    Background, Compaction, CopyProgress, Durability, Engine, Moment, Options, Restore, Salvaged,
    Scrub, Scrubbed, Status,
};
pub use error::{CancelReason, Damage, Error, Failure, Refusal};
pub use indexed::{IndexedItems, ItemsPage, ReadItems};
pub use invalid::Invalid;
pub use members::Members;
pub use memory::MemoryStore;
pub use names::{IndexName, SetName, ShardId, TableName};
pub use real_disk::RealDisk;
pub use request::{
    AddNumber, BatchAction, BatchGet, BatchGot, BatchWrite, Check, Consistency, Delete, Get,
    OnFailure, Page, Put, Query, Rank, Returns, Scan, Segment, Select, TransactAction, TransactGet,
    TransactWrite, UpdateItem,
};
pub use set::{ListSets, Membership, ReadSet, SetChange, SetPart, SetSize, Sets};
pub use slice::{Slice, SlicePoll, yield_point};
pub use store::{Read, Store};
pub use table::{
    Alteration, Feed, IndexDescription, IndexProjection, IndexScope, IndexSpec, IndexState,
    KeyAttribute, KeySchema, KeyType, Specs, TableDescription, TableSpec,
};
