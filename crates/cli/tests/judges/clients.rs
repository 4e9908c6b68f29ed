//! Amazon's own client libraries, unmodified. Each is installed once, below the target folder,
//! from its language's registry.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use keyloom_testkit::readme;

use crate::process::{Served, scratch};

const WIRE: &str = include_str!("../../../../docs/wire.md");
const BOTO3: &str = "boto3==1.44.0";

pub(crate) fn suite(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// Runs a command that must succeed; `purpose` is part of the failure.
pub(crate) fn succeed(purpose: &str, command: &mut Command) {
    let shown = format!("{command:?}");
    let output = command.output().unwrap_or_else(|error| panic!("{purpose}: {shown}: {error}"));
    assert!(
        output.status.success(),
        "{purpose}: {shown}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Installs into a folder once; the file `installed` is written last. Tests that run in parallel and need
/// the same package wait for the one that installs it.
pub(crate) fn installed(folder: &Path, install: impl FnOnce()) {
    let lock = File::create(format!("{}.lock", folder.display())).unwrap();
    lock.lock().unwrap();
    let installed = folder.join("installed");
    if !installed.exists() {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
        install();
        std::fs::write(installed, "").unwrap();
    }
}

/// A Python interpreter with a package from PyPI, in a venv of its own.
pub(crate) fn python_with(package: &str) -> PathBuf {
    let folder = scratch(&format!("python-{package}"));
    let python = folder.join("venv/bin/python");
    installed(&folder, || {
        let venv = folder.join("venv");
        succeed("Python 3 with venv", Command::new("python3").args(["-m", "venv"]).arg(venv));
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package];
        succeed("Installing from PyPI", Command::new(&python).args(install));
    });
    python
}

#[test]
fn boto3_works() {
    let python = python_with(BOTO3);
    let served = Served::start("boto3");
    succeed("boto3's suite", Command::new(&python).arg(suite("boto3_suite.py")).arg(&served.url));
}

/// A folder with the SDK for JavaScript.
fn javascript() -> PathBuf {
    let folder = scratch("clients-javascript");
    installed(&folder, || {
        let files = ["package.json", "sdk_v3_suite.mjs"];
        for file in files {
            std::fs::copy(suite(file), folder.join(file)).unwrap();
        }
        let install = ["install", "--loglevel=error", "--no-audit", "--no-fund"];
        succeed("The SDK comes from npm", Command::new("npm").args(install).current_dir(&folder));
    });
    folder
}

#[test]
fn the_sdk_for_javascript_works() {
    let folder = javascript();
    // Node resolves packages relative to the suite.
    std::fs::copy(suite("sdk_v3_suite.mjs"), folder.join("sdk_v3_suite.mjs")).unwrap();
    let served = Served::start("javascript");
    let mut node = Command::new("node");
    succeed(
        "The suite of the SDK for JavaScript",
        node.arg(folder.join("sdk_v3_suite.mjs")).arg(&served.url).current_dir(&folder),
    );
}

/// The client that the guide configures in a language, for another address, and what follows it in a program.
fn program(language: &str, url: &str, rest: &str) -> String {
    let blocks = readme::blocks(WIRE);
    let block = blocks.into_iter().find(|block| block.language == language).unwrap();
    let address = "http://127.0.0.1:8000";
    assert!(block.text.contains(address));
    format!("{}\n{rest}\n", block.text.replace(address, url))
}

#[test]
fn boto3_works_as_the_guide_configures_it() {
    let served = Served::start("boto3-guide");
    let list = "assert list(dynamodb.tables.all()) == [], 'it is empty'";
    let mut python = Command::new(python_with(BOTO3));
    succeed("The example", python.arg("-c").arg(program("python", &served.url, list)));
}

#[test]
fn the_sdk_for_javascript_works_as_the_guide_configures_it() {
    let folder = javascript();
    let served = Served::start("javascript-guide");
    let list = "const { ListTablesCommand } = await import(\"@aws-sdk/client-dynamodb\");\n\
                const { TableNames } = await client.send(new ListTablesCommand());\n\
                if (TableNames.length !== 0) throw new Error(\"it is empty\");";
    std::fs::write(folder.join("guide.mjs"), program("js", &served.url, list)).unwrap();
    succeed("The example", Command::new("node").arg(folder.join("guide.mjs")));
}
