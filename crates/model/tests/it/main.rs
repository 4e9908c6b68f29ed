//! What the model language accepts, what it refuses, and with which messages.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod admit;
mod apps;
mod declarations;
mod errors;
mod evolve;
mod formats;
mod guide;
mod hostile;
mod language;
mod layouts;
mod patterns;
mod random_entity;
mod read_only;
mod related;
mod relative;
mod round_trip;
mod templates;
mod windows;
mod workloads;
