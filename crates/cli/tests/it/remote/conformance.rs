//! The suite of all stores on the remote store: over our endpoint, over servers that others wrote,
//! and over any endpoint that the environment names.

use std::sync::Arc;

use keyloom_dynamodb::{Remote, RemoteOptions};
use keyloom_store::Read;
use keyloom_testkit::Subject;
use keyloom_testkit::conformance::{self, Failure};
use pollster::block_on;

use super::differences::{DYNOXIDE, Difference, FOREIGN, MINISTACK, ONE_SERVER, REMOTE};
use super::endpoint::remote;
use super::subjects::{ATTEMPTS_MAX, Alone, Ours, Theirs};
use crate::foreign::Foreign;

/// Names an endpoint to run the suite on: a URL, or `aws` for what the environment says. It must
/// have no tables, because the suite drops what it finds.
const ENDPOINT: &str = "KEYLOOM_DYNAMODB_ENDPOINT";

/// Attempts at the first request to a server that starts: about 20 seconds.
const START_ATTEMPTS_MAX: u32 = 12;

#[test]
fn the_suite_passes_over_our_own_endpoint() {
    let failures = conformance::failures(|| Box::new(Ours::new()) as Box<dyn Subject>);
    assert_known(failures, &[REMOTE]);
}

#[test]
fn the_suite_over_ministack_differs_where_it_is_known() {
    let server = Foreign::ministack();
    assert_known(failures(listening(&server)), &[REMOTE, FOREIGN, ONE_SERVER, MINISTACK]);
}

/// Each case has a server of its own: the changes of a table that was dropped are still in the feed
/// of the next one of its name there.
#[test]
fn the_suite_over_dynoxide_differs_where_it_is_known() {
    let make = || Box::new(Alone::on(Foreign::dynoxide())) as Box<dyn Subject>;
    assert_known(conformance::failures(make), &[REMOTE, FOREIGN, DYNOXIDE]);
}

#[test]
fn the_suite_over_an_endpoint_of_the_environment_differs_as_the_remote_store_does() {
    let Ok(named) = std::env::var(ENDPOINT) else { return };
    let endpoint = (named != "aws").then_some(named);
    let options = RemoteOptions { endpoint, ..RemoteOptions::default() };
    let remote = block_on(Remote::connect(options)).unwrap();
    assert_known(failures(remote), &[REMOTE, FOREIGN, ONE_SERVER]);
}

/// A store over a server that was started a moment ago, once it listens: until then connections are
/// refused, and tried again.
fn listening(server: &Foreign) -> Remote {
    let tables = block_on(remote(&server.url, START_ATTEMPTS_MAX).list_tables());
    tables.unwrap_or_else(|error| panic!("{} does not answer: {error}", server.url));
    remote(&server.url, ATTEMPTS_MAX)
}

fn failures(remote: Remote) -> Vec<Failure> {
    let tables = block_on(remote.list_tables()).unwrap();
    assert!(tables.is_empty(), "the suite drops all tables, and here are some: {tables:?}");
    let remote = Arc::new(remote);
    let failures = conformance::failures(|| Box::new(Theirs::emptied(&remote)) as Box<dyn Subject>);
    drop(Theirs::emptied(&remote));
    failures
}

/// Nothing fails that is not known to, and what is known to fail does, unless it may pass.
fn assert_known(failures: Vec<Failure>, known: &[&[Difference]]) {
    let known = || known.iter().flat_map(|list| list.iter());
    let is_known = |failure: &Failure| known().any(|difference| difference.covers(failure.case));
    let unknown = failures.iter().filter(|failure| !is_known(failure));
    let unknown = unknown.map(|failure| format!("- {}: {}", failure.case, failure.message));
    let unknown: Vec<String> = unknown.collect();
    assert!(unknown.is_empty(), "{} cases failed:\n{}", unknown.len(), unknown.join("\n"));
    let passed = known().filter(|difference| {
        difference.is_certain() && !failures.iter().any(|failure| difference.covers(failure.case))
    });
    let passed: Vec<&Difference> = passed.collect();
    assert!(passed.is_empty(), "these differ no more, take them off the list: {passed:#?}");
}
