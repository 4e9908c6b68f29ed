//! Strict mode: the service's rules under load, which a local server does not show otherwise.
//!
//! [`Strict`] is a store around another one. What it lets through is done there; before that it
//! refuses, delays and ages as the service does:
//!
//! - [`conflicts`]: transactions in flight that touch the same item cancel each other;
//! - [`partitions`]: units per second of each partition of a table and of its global indexes, with
//!   bursts and splits for heat; an index without capacity throttles writes of its table;
//! - [`lag`]: global indexes, and eventually consistent reads, follow the table;
//! - [`lifecycle`]: tables and indexes take time to create, indexes one at a time;
//! - [`shards`]: streams with empty pages, shards that close and have children, limits of readers.
//!
//! Everything random comes from one seed, and time from a clock, so a test with a simulated clock
//! repeats exactly. [`Heat`] reports what partitions and keys consumed.
//!
//! Not modelled: provisioned throughput, limits of an account, and splits by size.

mod bucket;
mod charge;
mod conflicts;
mod heat;
mod heavy_keys;
mod lag;
mod ledger;
mod lifecycle;
mod options;
mod partitions;
mod position;
mod random;
mod read;
mod refusal;
mod shards;
mod spaces;
mod store;
mod stream;
mod usage;
mod write;

pub use heat::Heat;
pub use ledger::{Metered, Usage};
pub use options::StrictOptions;
pub(crate) use refusal::code;
pub(crate) use shards::{ShardPage, StreamShard};
pub use store::Strict;
