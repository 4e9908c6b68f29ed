//! DynamoDB as a store: the same trait, over the AWS SDK. One file for each part of the trait.
//!
//! A request is checked by the rules of [`keyloom_store`] before it is sent, so that it is refused
//! for the same reason as by the other stores. What the service alone can know it says itself.

mod batches;
mod capacity;
mod connection;
mod expressions;
mod feed;
mod items;
mod options;
mod pages;
mod refusal;
mod retry;
mod service;
mod specs;
mod store;
mod table_shape;
mod tables;
mod transactions;
mod values;

pub use capacity::Consumed;
pub use options::{Keys, RemoteOptions};
pub use store::Remote;
