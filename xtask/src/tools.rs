//! Installs the external programs that tasks need, each once per version, into the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::{cargo, succeed};

/// Returns a cargo subcommand of this version; installs it if it is missing.
pub(crate) fn installed(root: &Path, name: &str, version: &str) -> Result<PathBuf, String> {
    let tools = root.join("target/tools");
    let program = tools.join("bin").join(name);
    if is_current(&program, name, version) {
        return Ok(program);
    }
    println!("Installing {name} {version} into {}", tools.display());
    let build = tools.join("build");
    let mut install = cargo(root);
    // It runs quickly, so a fast build matters more than fast code.
    install.args(["install", name, "--version", version, "--locked", "--debug", "--force"]);
    install.arg("--root").arg(&tools).env("CARGO_TARGET_DIR", &build);
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    succeed(&mut install).map_err(|error| format!("cannot install {name}: {error}"))?;
    // Leftover build files are harmless.
    let _ = fs::remove_dir_all(build);
    Ok(program)
}

fn is_current(program: &Path, name: &str, version: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).trim() == format!("{name} {version}")
    })
}
