//! All rules, one after another, and what they found.

use std::path::Path;
use std::process::ExitCode;

use super::{Finding, Workspace};
use super::{calls, documents, files, layers, lengths, pictures, surface, words};

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
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    println!("{}", lengths::fact(&workspace));
    println!("{}", surface::fact(&workspace));
    Ok(findings.len())
}
