//! Tests of the public API.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod capacity;
mod expression_errors;
mod generators;
mod hostile;
mod items;
mod legacy;
mod paging;
mod partiql;
mod printing;
#[cfg(feature = "remote")]
mod remote;
mod service;
mod streams;
mod strict;
mod tables;
mod transactions;
