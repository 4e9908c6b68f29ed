//! The edge: one HTTP stack for every [`App`](crate::App).
//!
//! What is here decides who is let through and how much of the server they can take: connections,
//! memory, time. It knows nothing about data. From the socket inwards:
//!
//! 1. [`connections`]: how many there can be, and which one goes when another comes;
//! 2. [`connection`]: hyper, with time-outs for heads and for writing;
//! 3. [`layers`]: request ids, log, metrics, panics, CORS, compression;
//! 4. [`receive`]: bodies, once the app knows whose they are.

pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod edge;
pub(crate) mod engine_metrics;
pub(crate) mod host;
pub(crate) mod layers;
pub(crate) mod metrics;
pub(crate) mod observe;
pub(crate) mod receive;
pub(crate) mod refusal;
pub(crate) mod request_id;
pub(crate) mod room;
pub(crate) mod streams;
