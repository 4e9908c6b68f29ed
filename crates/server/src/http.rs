//! The edge: one HTTP stack for every [`App`](crate::App).
//!
//! It decides which requests reach an app, and how much of the server clients can use: connections,
//! memory, time. It knows nothing about data. From the socket inwards:
//!
//! 1. [`threads`]: which thread serves a connection;
//! 2. [`connections`]: how many there can be, and which one is closed for a new one;
//! 3. [`connection`]: hyper, with time-outs for heads and for writing;
//! 4. [`layers`]: request ids, log, metrics, CORS, panics, compression;
//! 5. [`receive`]: bodies, once the app knows their sender.

pub(crate) mod body_memory;
pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod edge;
pub(crate) mod engine_metrics;
pub(crate) mod exchange;
pub(crate) mod host;
pub(crate) mod layers;
pub(crate) mod metrics;
pub(crate) mod observe;
pub(crate) mod receive;
pub(crate) mod refusal;
pub(crate) mod request_id;
pub(crate) mod streams;
pub(crate) mod threads;
pub(crate) mod timeout;
pub(crate) mod unpack;
