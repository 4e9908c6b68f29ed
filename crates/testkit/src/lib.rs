//! What tests of every layer share: a clock that stands still, a disk that loses what was not
//! synced, the conformance suite that every store must pass, random histories that two stores must
//! answer alike, a checker of concurrent histories, random models with documents and edits, a reader of
//! READMEs that does what they say, and a check of the page that lists every access pattern.
//!
//! A store under test is a [`Subject`]. [`conformance::run_all`] runs every case of the suite on
//! a fresh one; [`history::compare`] plays one history on two.
//!
//! Nothing here is part of the product, asks the machine for the time, or sleeps.

// Test support: a panic is the report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod client;
mod clock;
pub mod conformance;
mod front;
pub mod history;
// A public module, so that `linearizable::check` says what it checks.
pub mod linearizable;
// A public module, so that `model::draft` says what it drafts.
pub mod model;
// A public module, so that `pausing::go_on` says what goes on.
pub mod pausing;
mod random;
// A public module, so that `readme::run` says what it runs.
pub mod readme;
mod sample;
// A public module, so that `services::of` says what it is of.
pub mod services;
mod sets;
mod sim_disk;
mod subject;

pub use client::Client;
pub use clock::ManualClock;
pub use front::{Front, InFront};
pub use random::Random;
pub use sim_disk::SimDisk;
pub use subject::{ReferenceSubject, Subject};
