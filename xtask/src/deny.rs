//! `cargo deny`, by `deny.toml`: licences, bans and sources in every run of CI; advisories on their
//! own, because they need a database that is not reachable from everywhere.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::ci::succeed;
use crate::tools::installed;

const VERSION: &str = "0.20.2";

/// What the lock file alone can answer.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    run(root, &["licenses", "bans", "sources"])
}

/// Whether something is known to be vulnerable or was withdrawn.
pub(crate) fn advisories(root: &Path) -> ExitCode {
    match run(root, &["advisories"]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, checks: &[&str]) -> Result<(), String> {
    let program = installed(root, "cargo-deny", VERSION)?;
    let options = ["--locked", "check", "--hide-inclusion-graph"];
    succeed(Command::new(program).current_dir(root).args(options).args(checks))
}
