//! `cargo deny`, by `deny.toml`: licences, bans and sources in every run of CI; advisories on their
//! own, because they need a database that is not reachable from everywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::ci::{cargo, succeed};

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
    let program = installed(root)?;
    let options = ["--locked", "check", "--hide-inclusion-graph"];
    succeed(Command::new(program).current_dir(root).args(options).args(checks))
}

/// The program, in the target folder: it is compiled once, and again for another version.
fn installed(root: &Path) -> Result<PathBuf, String> {
    let tools = root.join("target/tools");
    let program = tools.join("bin/cargo-deny");
    if is_current(&program) {
        return Ok(program);
    }
    println!("Installing cargo-deny {VERSION} into {}", tools.display());
    let build = tools.join("build");
    let mut install = cargo(root);
    // What it checks takes no time: compiling it should not either.
    install.args(["install", "cargo-deny", "--version", VERSION, "--locked", "--debug", "--force"]);
    install.arg("--root").arg(&tools).env("CARGO_TARGET_DIR", &build);
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    succeed(&mut install).map_err(|error| format!("cargo-deny cannot be installed: {error}"))?;
    // That the parts stay is no reason to fail.
    let _ = fs::remove_dir_all(build);
    Ok(program)
}

fn is_current(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).trim() == format!("cargo-deny {VERSION}")
    })
}
