//! The conformance suite on the remote store: over third-party servers, and over any endpoint that the
//! environment names.

use std::sync::Arc;

use keyloom_dynamodb::{Remote, RemoteOptions};
use keyloom_store::Read;
use keyloom_testkit::Subject;
use keyloom_testkit::conformance::{self, Failure};
use pollster::block_on;

use super::differences::{DYNOXIDE, FILLED_LATER, FOREIGN, MINISTACK, ONE_SERVER};
use super::subjects::{Alone, Theirs};
use crate::foreign::Foreign;
use crate::it::remote::differences::{REMOTE, assert_known};
use crate::it::remote::endpoint::{ATTEMPTS_MAX, remote};
use crate::process::Served;

/// Names an endpoint to run the suite on: a URL, or `aws` for the settings in the environment. It must
/// have no tables, because the suite drops those it finds. Without it, the suite runs on a process of
/// our own.
const ENDPOINT: &str = "KEYLOOM_DYNAMODB_ENDPOINT";

/// Attempts at the first request to a starting server: about 20 seconds.
const START_ATTEMPTS_MAX: u32 = 12;

#[test]
fn the_suite_over_ministack_has_only_known_differences() {
    let server = Foreign::ministack();
    assert_known(failures(listening(&server)), &[REMOTE, FOREIGN, ONE_SERVER, MINISTACK]);
}

/// Each case gets its own server: there, changes of a dropped table are still in the feed of the next
/// table with its name.
#[test]
fn the_suite_over_dynoxide_has_only_known_differences() {
    let make = || Box::new(Alone::on(Foreign::dynoxide())) as Box<dyn Subject>;
    assert_known(conformance::failures(make), &[REMOTE, FOREIGN, DYNOXIDE]);
}

#[test]
fn the_suite_over_an_endpoint_of_the_environment_has_only_known_differences() {
    let Ok(named) = std::env::var(ENDPOINT) else { return over_a_process_of_our_own() };
    let endpoint = (named != "aws").then_some(named);
    let options = RemoteOptions { endpoint, ..RemoteOptions::default() };
    let remote = block_on(Remote::connect(options)).unwrap();
    assert_known(failures(remote), &[REMOTE, FOREIGN, ONE_SERVER, FILLED_LATER]);
}

fn over_a_process_of_our_own() {
    let served = Served::start("endpoint-conformance");
    let known = &[REMOTE, FOREIGN, ONE_SERVER, FILLED_LATER];
    assert_known(failures(remote(&served.url, ATTEMPTS_MAX)), known);
}

/// A store over a starting server, once it listens; until then connections are refused and retried.
fn listening(server: &Foreign) -> Remote {
    let tables = block_on(remote(&server.url, START_ATTEMPTS_MAX).list_tables());
    tables.unwrap_or_else(|error| panic!("{} does not answer: {error}", server.url));
    remote(&server.url, ATTEMPTS_MAX)
}

fn failures(remote: Remote) -> Vec<Failure> {
    let tables = block_on(remote.list_tables()).unwrap();
    assert!(
        tables.is_empty(),
        "the suite drops all tables, but this endpoint has some: {tables:?}"
    );
    let remote = Arc::new(remote);
    let failures = conformance::failures(|| Box::new(Theirs::emptied(&remote)) as Box<dyn Subject>);
    drop(Theirs::emptied(&remote));
    failures
}
