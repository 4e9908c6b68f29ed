//! The conformance suite, and random histories, through the wire.
//!
//! [`WireStore`] is a store that turns every call into a request to the endpoint, which runs on a
//! memory store, and decodes the response. So conditions, updates, projections, keys and items are
//! printed, parsed, stored, encoded and decoded, and must keep their meaning.
// Tests panic to report, in their helper functions too, where the lint's exemption does not reach.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod requests;
mod responses;
mod wire_store;

use keyloom_testkit::{MemorySubject, Subject, conformance, history};
use proptest::test_runner::{Config, TestRunner};

use wire_store::WireSubject;

#[test]
fn the_conformance_suite_passes_through_the_wire() {
    conformance::run_all(|| Box::new(WireSubject::new()) as Box<dyn Subject>);
}

#[test]
fn the_conformance_suite_passes_in_strict_mode() {
    conformance::run_all(|| Box::new(WireSubject::strict()) as Box<dyn Subject>);
}

#[test]
fn histories_have_the_same_results_through_the_wire() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&history::history(60), |ops| {
        let ops = history::without_sets(ops);
        history::compare(&MemorySubject::new(), &WireSubject::new(), &ops);
        Ok(())
    });
    played.unwrap();
}

#[test]
fn histories_have_the_same_results_in_strict_mode() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&history::history(60), |ops| {
        let ops = history::without_sets(ops);
        history::compare(&MemorySubject::new(), &WireSubject::strict(), &ops);
        Ok(())
    });
    played.unwrap();
}
