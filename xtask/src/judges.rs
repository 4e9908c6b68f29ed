//! Tests that install external software, in two sizes.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::commands::{cargo, succeed};

/// Selects the whole workspace, like the other tests, so that no dependency is built twice.
const ARGUMENTS: &[&str] = &["test", "--workspace", "--locked", "--test", "judges"];

/// The size of a run.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    /// Minutes, with the same requests in every run.
    Reduced,
    /// Everything, without a time limit.
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

/// Runs `cargo xtask judges`.
pub(crate) fn run(root: &Path) -> ExitCode {
    match succeed(&mut command(root, Size::Reduced)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("The judges failed: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the command that runs them.
pub(crate) fn command(root: &Path, size: Size) -> Command {
    let mut command = cargo(root);
    command.args(ARGUMENTS).env("KEYLOOM_JUDGES", size.name());
    command
}
