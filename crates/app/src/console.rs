//! Output of a program to its terminal. Failed writes are ignored: a closed pipe does not stop a server.

use std::io::Write;

/// Writes a line to standard output.
pub fn print(line: &str) {
    let mut output = std::io::stdout();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Writes a line to standard error.
pub fn log(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
