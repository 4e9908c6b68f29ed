//! Installs the external programs that tasks need, each once per version, into the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::{cargo, succeed};

/// A program from crates.io.
pub(crate) struct Tool {
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// What it prints for `--version`.
    pub(crate) shown_version: &'static str,
    /// Options of `cargo install`.
    pub(crate) options: &'static [&'static str],
}

/// Returns the program of a tool; installs it if this version is missing.
pub(crate) fn installed(root: &Path, tool: &Tool) -> Result<PathBuf, String> {
    let Tool { package, version, options, .. } = tool;
    let tools = root.join("target/tools");
    let program = tools.join("bin").join(package);
    if is_current(&program, tool) {
        return Ok(program);
    }
    println!("Installing {package} {version} into {}", tools.display());
    let build = tools.join("build");
    let mut install = cargo(root);
    // It runs quickly, so a fast build matters more than fast code.
    install.args(["install", package, "--version", version, "--locked", "--debug", "--force"]);
    install.args(*options).arg("--root").arg(&tools).env("CARGO_TARGET_DIR", &build);
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    succeed(&mut install).map_err(|error| format!("cannot install {package}: {error}"))?;
    // Leftover build files are harmless.
    let _ = fs::remove_dir_all(build);
    Ok(program)
}

fn is_current(program: &Path, tool: &Tool) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == tool.shown_version)
}
