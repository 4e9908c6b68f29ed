//! Tables of items with DynamoDB's semantics.
//!
//! A [`Store`] keeps tables of [`Item`](keyloom_value::Item)s and their secondary indexes, writes
//! with conditions and in transactions, answers queries in pages, and tells what changed. There
//! is one here: [`Reference`] keeps everything in memory and looks at every item for every answer.
//! It is obviously right: what others are compared with, and good enough for tests.
//!
//! Requests are plain data ([`Put`], [`Query`], [`TransactWrite`], …), and so is what a table is
//! ([`TableSpec`]). A request that breaks a rule is refused with the [`Invalid`] that says which.
//!
//! This crate knows no entities and parses no expression text. Time and the disk are parameters:
//! nothing here asks the machine for either on its own.

mod change;
mod clock;
mod decide;
mod disk;
mod error;
mod index;
mod invalid;
mod limits;
mod real_disk;
mod reference;
mod request;
mod returned;
mod segment;
mod store;
mod table;
mod ttl;
mod validate;

pub use change::{Cause, Change, ChangePage, FeedStart, ReadChanges, SeqNo, ShardId};
pub use clock::{Clock, SystemClock, Time};
pub use disk::{Disk, DiskFile, OpenMode};
pub use error::{CancelReason, Damage, Error, Failure};
pub use invalid::Invalid;
pub use real_disk::RealDisk;
pub use reference::Reference;
pub use request::{
    BatchAction, BatchGet, BatchGot, BatchWrite, Check, Consistency, Delete, Direction, Get,
    OnFailure, Page, Put, Query, Returns, Scan, Segment, Select, TransactAction, TransactGet,
    TransactWrite, UpdateItem,
};
pub use store::{Answer, Read, Store};
pub use table::{
    Alteration, Feed, IndexDescription, IndexName, IndexProjection, IndexScope, IndexSpec,
    IndexState, KeyAttribute, KeySchema, KeyType, TableDescription, TableName, TableSpec,
};
