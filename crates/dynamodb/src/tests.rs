//! The suite of all stores, and random histories, through the wire.
//!
//! [`WireStore`] is a store whose every call becomes a request, goes through the endpoint to a
//! reference in memory, and comes back as an answer. So conditions, updates, projections, keys and
//! items are printed, parsed, stored, written and read, and must still mean the same.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod requests;
mod wire_store;

use keyloom_testkit::{MemorySubject, Subject, conformance, history};
use proptest::test_runner::{Config, TestRunner};

use wire_store::WireSubject;

#[test]
fn the_suite_of_all_stores_passes_through_the_wire() {
    conformance::run_all(|| Box::new(WireSubject::new()) as Box<dyn Subject>);
}

#[test]
fn histories_come_to_the_same_through_the_wire() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&history::history(60), |ops| {
        let ops = history::without_sets(ops);
        history::compare(&MemorySubject::new(), &WireSubject::new(), &ops);
        Ok(())
    });
    played.unwrap();
}
