//! Runs external commands.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Returns a command that runs the current cargo in the root of the workspace.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("it exited with {status}.")),
        Err(error) => Err(format!("it could not be started: {error}.")),
    }
}

/// Formats a duration for output.
pub(crate) fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}
