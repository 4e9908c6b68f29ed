//! Runs `cargo deny` with `deny.toml`: licences, bans and sources in every CI run; advisories
//! separately, because they need network access to a database.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::commands::succeed;
use crate::tools::{Tool, installed};

const DENY: Tool = Tool {
    package: "cargo-deny",
    version: "0.20.2",
    shown_version: "cargo-deny 0.20.2",
    options: &[],
};

/// Checks what needs only the lock file.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    run(root, &["licenses", "bans", "sources"])
}

/// Checks for vulnerable or yanked dependencies.
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
    let program = installed(root, &DENY)?;
    let options = ["--locked", "check", "--hide-inclusion-graph"];
    succeed(Command::new(program).current_dir(root).args(options).args(checks))
}
