//! The workspace's own tasks: `cargo xtask ci` and its parts.
//!
//! Everything a change must pass is one command, so that what runs on a laptop and what runs
//! elsewhere cannot differ. It has no dependencies, so that the gate itself always builds.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its user on the terminal"
)]

mod charts;
mod ci;
mod deny;
mod fuzz;
mod judges;
mod soak;
mod tidy;
mod tools;

use std::env;
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
The tasks of this workspace.

Usage: cargo xtask <task>

Tasks:
  ci      Everything a change must pass, in this order, stopping at the first failure:
          formatting, tidy, dependencies (cargo-deny, which it installs into the target
          folder), clippy, all tests (unit, integration, documentation), the documentation
          itself, the examples, and the judges. Run it before you commit. Random tests draw
          the same cases every time.
  tidy    Only the style budgets: function and file length, names, words and calls that may
          not be there, layering of crates, public surface, documents, charts.
          Each complaint names a place (file:line) and says what to do.
  advisories
          Whether a dependency has a known vulnerability. It needs GitHub, so `ci` does not.
  judges  Only the tests that install foreign software (SDKs, other servers, generators, a
          browser), at reduced size. They need Python 3, Node.js and the network.
  soak    All tests, judges and fuzz targets at full size with fresh seeds, for hours. It prints its seeds and a
          table of results for docs/testing.md; PROPTEST_RNG_SEED, KEYLOOM_SEED, PROPTEST_CASES
          and ONCALL_SEEDS decide what they name.
  fuzz [SECONDS] [TARGET]
          Fuzz every decoder and parser with libFuzzer, or one of them, each for so many seconds
          (120). It installs cargo-fuzz into the target folder and needs a C++ compiler.
  charts  Draw the charts of documents from their tables; tidy says which are old.
  help    This text; also --help.

A function or file that cannot be made shorter yet is listed, with its exact length, in
xtask/tidy-ratchet.txt; lengths there may only go down.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ci"] => ci::run(root()),
        ["tidy"] => tidy::run(root()),
        ["advisories"] => deny::advisories(root()),
        ["judges"] => judges::run(root()),
        ["soak"] => soak::run(root()),
        ["fuzz"] => fuzz::run(root(), fuzz::SECONDS, None),
        ["fuzz", seconds] => fuzz::run(root(), seconds, None),
        ["fuzz", seconds, target] => fuzz::run(root(), seconds, Some(target)),
        ["charts"] => charts::run(root()),
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        [] => usage("No task was named."),
        [task, ..] => usage(&format!("There is no task `{task}` with these arguments.")),
    }
}

fn usage(complaint: &str) -> ExitCode {
    eprintln!("{complaint}\n\n{HELP}");
    ExitCode::from(2)
}

/// The folder of the workspace, wherever in it the command was called.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}
