//! All rules, one after another, and what they found.

use std::path::Path;
use std::process::ExitCode;

use super::{Finding, Workspace};
use super::{calls, documents, files, layers, lengths, licences, pictures, surface, words};
use crate::ci::cargo;

/// Every rule that reads only files.
const RULES: &[fn(&Workspace) -> Vec<Finding>] = &[
    lengths::check,
    files::check,
    words::check,
    calls::check,
    surface::check,
    layers::check,
    documents::check,
    pictures::check,
];

/// Checks the workspace and says how it went.
pub(crate) fn run(root: &Path) -> ExitCode {
    match check(root) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(complaints) => {
            eprintln!("complaints: {complaints}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints every complaint, then a few facts; returns how many complaints there were.
pub(crate) fn check(root: &Path) -> Result<usize, String> {
    let workspace = Workspace::read(root)?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&workspace)).collect();
    findings.extend(licences::check(&metadata(root)?));
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    println!("{}", lengths::fact(&workspace));
    println!("{}", surface::fact(&workspace));
    Ok(findings.len())
}

/// What cargo knows about every package the lock file names.
fn metadata(root: &Path) -> Result<String, String> {
    let arguments = ["metadata", "--format-version", "1", "--locked"];
    let output = cargo(root).args(arguments).output();
    let output = output.map_err(|error| format!("cargo could not be started: {error}."))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`cargo {}` failed:\n{said}", arguments.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
