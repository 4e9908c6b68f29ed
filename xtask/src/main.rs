//! The tasks of the workspace: `cargo xtask ci` and its parts.
//!
//! One command runs everything that a change must pass, so that local and remote runs cannot differ.
//! It has no dependencies, so that it always builds.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool prints to the terminal"
)]

mod book;
mod charts;
mod ci;
mod commands;
mod console;
mod deny;
mod fuzz;
mod judges;
mod markdown;
mod soak;
mod tidy;
mod tools;

use std::env;
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
Run the tasks of this workspace.

Usage: cargo xtask <TASK>

Tasks:
  ci      Run everything a change must pass, stopping at the first failure: formatting,
          tidy, dependencies (installs cargo-deny into the target folder), clippy, all tests
          (unit, integration, documentation), the documentation itself, the examples, and the
          judges. Run it before you commit. Random tests draw the same cases every time.
  tidy    Check the style rules: function and file lengths, file names, forbidden words and
          calls, layering of crates, public names, documents, their links and commands,
          charts. Each finding names a location (file:line) and how to fix it.
  advisories
          Check dependencies for known vulnerabilities. Needs access to GitHub, so not part
          of `ci`.
  judges  Run the tests that install external software (SDKs, other servers, generators, a
          browser), at reduced size. Needs Python 3, Node.js and network access.
  soak    Run all tests, judges and fuzz targets at full size with fresh seeds, and build the
          documentation site, for hours.
          Prints the seeds and a table of results for docs/testing.md.
          [env: PROPTEST_RNG_SEED, KEYLOOM_SEED, PROPTEST_CASES, ONCALL_SEEDS, KEYLOOM_KILLS]
  fuzz [SECONDS] [TARGET]
          Fuzz every decoder and parser with libFuzzer, or only TARGET, for SECONDS each
          [default: 120]. Installs cargo-fuzz into the target folder; needs a C++ compiler.
  book    Build the documentation site into target/book/html, and check every link in it.
          Installs mdBook into the target folder.
  charts  Draw the charts of documents from their tables; tidy reports outdated ones.
  console Build the console that servers include, from its TypeScript. Needs Node.js and npm.
  help    Print this help; also --help.

xtask/tidy-ratchet.txt lists functions and files over the length limit, with their exact
lengths. Lengths there can only decrease.
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
        ["book"] => book::run(root()),
        ["charts"] => charts::run(root()),
        ["console"] => console::run(root()),
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        [] => usage("Missing task."),
        [task, ..] => usage(&format!("Unknown task, or invalid arguments: `{task}`.")),
    }
}

fn usage(error: &str) -> ExitCode {
    eprintln!("{error}\n\n{HELP}");
    ExitCode::from(2)
}

/// Returns the root of the workspace.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}
