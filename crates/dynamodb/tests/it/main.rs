//! Tests of the public API.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod backups;
mod capacity;
mod expression_errors;
mod generators;
mod hostile;
mod items;
mod legacy;
mod mutated;
mod paging;
mod partiql;
mod printing;
#[cfg(feature = "remote")]
mod remote;
mod service;
mod stream_history;
mod stream_life;
mod streams;
mod strict;
mod table_words;
mod tables;
mod transactions;
mod value_words;
