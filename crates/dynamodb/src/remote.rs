//! DynamoDB as a store: the same trait, over the AWS SDK. One file per part of the trait.
//!
//! A request is validated by the rules of [`keyloom_store`] before it is sent, so that every store
//! rejects it for the same reason. The service reports what only it can know.

mod backups;
mod batches;
mod capacity;
mod codes;
mod connection;
mod expressions;
mod feed;
mod feed_position;
mod items;
mod options;
mod pages;
mod refusal;
mod retry;
mod service;
mod spec_cache;
mod specs;
mod store;
mod stream_cache;
mod stream_shards;
mod table_shape;
mod tables;
mod transactions;
mod values;

pub use capacity::Consumed;
pub use options::{Keys, RemoteOptions};
pub use store::Remote;
