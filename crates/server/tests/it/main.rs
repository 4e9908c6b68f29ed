//! Raw HTTP, for what clients' libraries hide.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod attacks;
mod cases;
mod crowding;
mod dropped;
mod http_client;
mod json_memory;
mod limits;
mod protocol;
mod rest;
mod rig;
mod signatures;
mod stopping;
mod tls;
mod wire_fair;
mod wire_health;
