//! What the README of the project says to type happens as it says.

use keyloom_testkit::readme::{self, Process};

use crate::process::{keyloom, scratch};

const README: &str = include_str!("../../../../README.md");
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/tasks/model.toml");

#[test]
fn every_request_of_the_readme_is_answered_as_it_says() {
    let mut command = keyloom();
    command.arg("serve").arg(MODEL);
    let server = Process::serve(command, &scratch("readme"));
    assert!(readme::run(README, &server) >= 4);
}
