//! Runs all rules and prints the findings.

use std::path::Path;
use std::process::ExitCode;

use super::{Finding, Workspace};
use super::{calls, documents, examples, files, layers, lengths, links, pictures, surface, words};

/// All rules.
const RULES: &[fn(&Workspace) -> Vec<Finding>] = &[
    lengths::check,
    files::check,
    words::check,
    calls::check,
    surface::check,
    examples::check,
    layers::check,
    documents::check,
    pictures::check,
    links::check,
];

/// Runs `cargo xtask tidy`.
pub(crate) fn run(root: &Path) -> ExitCode {
    match check(root) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(findings) => {
            eprintln!("{findings} findings");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints every finding, then a summary; returns the number of findings.
pub(crate) fn check(root: &Path) -> Result<usize, String> {
    let workspace = Workspace::read(root)?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&workspace)).collect();
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    println!("{}", lengths::summary(&workspace));
    println!("{}", surface::summary(&workspace));
    Ok(findings.len())
}
