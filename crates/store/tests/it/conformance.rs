//! Every store passes the suite.

use keyloom_testkit::conformance;

use crate::subjects::STORES;

#[test]
fn every_store_passes_the_suite() {
    for (name, make) in STORES {
        println!("running the suite on the {name}");
        conformance::run_all(make);
    }
}
