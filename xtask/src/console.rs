//! `cargo xtask console`: builds the console from its TypeScript, and the clients of the applications' pages
//! from generated ones. What it writes is checked in, so that nobody needs Node.js to build Keyloom; a judge
//! builds it again and compares.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::commands::succeed;

/// Where the sources are.
const SOURCES: &str = "console";
/// Where the server includes the result.
const RESULT: &str = "crates/server/src/console";

pub(crate) fn run(root: &Path) -> ExitCode {
    let sources = root.join(SOURCES);
    let npm = |arguments: &[&str]| {
        let mut npm = Command::new("npm");
        npm.args(arguments).current_dir(&sources);
        npm.env("OUT", root.join(RESULT)).env("PAGES", root);
        succeed(&mut npm)
    };
    let built = npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"])
        .and_then(|()| npm(&["run", "--silent", "check"]))
        .and_then(|()| npm(&["run", "--silent", "build"]));
    match built {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("The console cannot be built (this needs Node.js and npm): {failure}");
            ExitCode::FAILURE
        }
    }
}
