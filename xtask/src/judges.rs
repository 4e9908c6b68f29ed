//! The tier of tests that installs foreign software, and its two sizes.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::ci::{cargo, succeed};

/// Of the workspace, as the other tests are, so that no dependency is built twice.
const ARGUMENTS: &[&str] =
    &["test", "--workspace", "--locked", "--features", "keyloom-cli/judges", "--test", "judges"];

/// How much the judges try.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    /// Minutes, with the same requests in every run.
    Reduced,
    /// As long as it takes.
    Full,
}

impl Size {
    fn name(self) -> &'static str {
        match self {
            Size::Reduced => "reduced",
            Size::Full => "full",
        }
    }
}

/// `cargo xtask judges`.
pub(crate) fn run(root: &Path) -> ExitCode {
    match succeed(&mut command(root, Size::Reduced)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("The judges failed: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// What runs them.
pub(crate) fn command(root: &Path, size: Size) -> Command {
    let mut command = cargo(root);
    command.args(ARGUMENTS).env("KEYLOOM_JUDGES", size.name());
    command
}
