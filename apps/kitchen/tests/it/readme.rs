//! Every request of the README returns what it shows.

use std::path::Path;
use std::process::Command;

use keyloom_testkit::readme::{self, Process};

const README: &str = include_str!("../../README.md");

#[test]
fn every_request_returns_what_the_readme_shows() {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kitchen-readme");
    let _ = std::fs::remove_dir_all(&data);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kitchen"));
    command.arg("--data").arg(data);
    let server = Process::serve(command);
    assert!(readme::run(README, &server) > 10);
}
