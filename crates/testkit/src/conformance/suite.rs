//! The list of cases, and the runner.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::case::Case;
use super::{
    batches, concurrency, conditions, feed, index_keys, index_paging, indexes, items, limits,
    numbers, queries, query_paging, query_refusals, returned_images, scans, sets, snapshots,
    start_keys, tables, tokens, transactions, ttl, updates, validation,
};
use crate::Subject;

/// Returns every case of the suite.
pub fn cases() -> Vec<Case> {
    [
        tables::CASES,
        items::CASES,
        limits::CASES,
        conditions::CASES,
        updates::CASES,
        returned_images::CASES,
        queries::CASES,
        query_paging::CASES,
        query_refusals::CASES,
        start_keys::CASES,
        indexes::CASES,
        index_keys::CASES,
        index_paging::CASES,
        scans::CASES,
        sets::CASES,
        numbers::CASES,
        batches::CASES,
        transactions::CASES,
        tokens::CASES,
        concurrency::CASES,
        ttl::CASES,
        feed::CASES,
        snapshots::CASES,
        validation::CASES,
    ]
    .concat()
}

/// A claim that is false for a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The claim, with its file: `ttl::a_later_second_keeps_the_item`.
    pub case: &'static str,
    /// What was found instead.
    pub message: String,
}

/// Runs every case on a fresh subject.
///
/// # Panics
///
/// If any case fails, with the names of all failed cases.
pub fn run_all(make: impl Fn() -> Box<dyn Subject>) {
    let failed = failures(make);
    let failed = failed.iter().map(|failure| format!("- {}: {}", failure.case, failure.message));
    let failed: Vec<String> = failed.collect();
    assert!(
        failed.is_empty(),
        "{} cases failed:
    {}",
        failed.len(),
        failed.join(
            "
    "
        )
    );
}

/// Runs every case on a fresh subject; returns the failures. For stores with known differences.
pub fn failures(make: impl Fn() -> Box<dyn Subject>) -> Vec<Failure> {
    cases().iter().filter_map(|case| run(case, &make)).collect()
}

/// Runs a case; returns its failure, if it failed.
fn run(case: &Case, make: &impl Fn() -> Box<dyn Subject>) -> Option<Failure> {
    let subject = make();
    let result = catch_unwind(AssertUnwindSafe(|| (case.run)(subject.as_ref())));
    let short = case.name.rsplit_once("conformance::").map_or(case.name, |(_, short)| short);
    result.err().map(|panic| Failure { case: short, message: message(panic.as_ref()).to_owned() })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}
