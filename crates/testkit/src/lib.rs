//! Test support for every layer: a manual clock, a disk that loses what was not synced, the
//! conformance suite that every store must pass, random histories that two stores must answer
//! alike, a linearizability checker, random models with documents and edits, a runner for the
//! commands on pages of documentation, and a check of the page that lists every access pattern.
//!
//! A store under test is a [`Subject`]. [`conformance::run_all`] runs every case of the suite on a
//! fresh one; [`history::compare`] plays one history on two.
//!
//! Nothing here is part of the product, reads the system's clock, or sleeps.

// Test support: panics are the reports.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases;
mod client;
mod clock;
pub mod conformance;
mod front;
pub mod history;
// Public as a module, for call sites like `linearizable::check`.
pub mod linearizable;
// Public as a module, for call sites like `model::draft`.
pub mod model;
// Public as a module, for call sites like `pausing::go_on`.
pub mod pausing;
mod random;
// Public as a module, for call sites like `readme::run`.
pub mod readme;
mod sample;
// Public as a module, for call sites like `services::of`.
pub mod services;
mod sets;
mod sim_clock;
mod sim_disk;
mod subject;

pub use cases::cases;
pub use client::Client;
pub use clock::ManualClock;
pub use front::{Front, InFront};
pub use random::Random;
pub use sim_clock::SimClock;
pub use sim_disk::SimDisk;
pub use subject::{MemorySubject, Subject};
