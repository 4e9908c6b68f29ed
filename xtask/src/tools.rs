//! Programs that tasks need and the workspace does not: each is compiled once into the target
//! folder, and again for another version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::{cargo, succeed};

/// A cargo subcommand of this version, installed unless it is there.
pub(crate) fn installed(root: &Path, name: &str, version: &str) -> Result<PathBuf, String> {
    let tools = root.join("target/tools");
    let program = tools.join("bin").join(name);
    if is_current(&program, name, version) {
        return Ok(program);
    }
    println!("Installing {name} {version} into {}", tools.display());
    let build = tools.join("build");
    let mut install = cargo(root);
    // What it does takes no time: compiling it should not either.
    install.args(["install", name, "--version", version, "--locked", "--debug", "--force"]);
    install.arg("--root").arg(&tools).env("CARGO_TARGET_DIR", &build);
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    succeed(&mut install).map_err(|error| format!("{name} cannot be installed: {error}"))?;
    // That the parts stay is no reason to fail.
    let _ = fs::remove_dir_all(build);
    Ok(program)
}

fn is_current(program: &Path, name: &str, version: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).trim() == format!("{name} {version}")
    })
}
