//! The conformance suite that every store must pass: what the traits promise, what DynamoDB
//! documents, and common mistakes of its emulators. One file per concept.

mod batches;
mod case;
mod concurrency;
mod conditions;
mod feed;
mod index_keys;
mod index_paging;
mod indexes;
mod items;
mod limits;
mod numbers;
mod queries;
mod query_paging;
mod query_refusals;
mod returned_images;
mod scans;
mod sets;
mod snapshots;
mod start_keys;
mod suite;
mod tables;
mod tokens;
mod transactions;
mod ttl;
mod updates;
mod validation;

pub use case::Case;
pub use suite::{Failure, cases, failures, run_all};
