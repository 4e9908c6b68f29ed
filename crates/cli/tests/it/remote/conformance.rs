//! The conformance suite on the remote store over our own endpoint.

use keyloom_testkit::Subject;
use keyloom_testkit::conformance;

use super::differences::{REMOTE, assert_known};
use super::subjects::Ours;

#[test]
fn the_suite_passes_over_our_own_endpoint() {
    let failures = conformance::failures(|| Box::new(Ours::new()) as Box<dyn Subject>);
    assert_known(failures, &[REMOTE]);
}
