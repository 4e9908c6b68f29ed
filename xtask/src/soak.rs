//! `cargo xtask soak`: runs all random tests at full size, with fresh seeds.
//!
//! `ci` always draws the same cases, so that no change passes or fails by chance. Each soak run draws
//! new ones. The seed printed first reproduces a failure.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Instant, SystemTime};

use crate::book;
use crate::commands::{cargo, seconds, succeed};
use crate::fuzz;
use crate::judges::{self, Size};

/// Sizes and seeds, as environment variables. Variables that are already set take precedence.
struct Settings {
    variables: Vec<(&'static str, String)>,
}

/// A part of the run.
struct Part {
    name: &'static str,
    command: Command,
}

/// Runs all parts, continuing after failures, and prints a table for `docs/testing.md`.
pub(crate) fn run(root: &Path) -> ExitCode {
    let settings = Settings::new();
    println!("{}\nRepeat with: {} cargo xtask soak", provenance(root), settings.assignments());
    let mut rows = vec![];
    let mut failed = 0;
    for Part { name, mut command } in parts(root) {
        println!("\n=== {name} ===");
        let start = Instant::now();
        let outcome =
            succeed(command.envs(settings.variables.iter().map(|(key, value)| (key, value))));
        failed += usize::from(outcome.is_err());
        let result =
            outcome.err().map_or_else(|| "passed".to_owned(), |why| format!("FAILED: {why}"));
        rows.push(format!("| {name} | {} | {result} |", seconds(start.elapsed())));
    }
    println!("\n{}, `{}`:\n", provenance(root), settings.assignments());
    println!("| part | time | result |\n|---|---|---|\n{}", rows.join("\n"));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parts(root: &Path) -> Vec<Part> {
    let mut all = cargo(root);
    all.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
    let mut remote = cargo(root);
    remote.args(["test", "-p", "keyloom-dynamodb", "--features", "remote", "--locked"]);
    vec![
        Part { name: "all tests of the workspace", command: all },
        Part { name: "the remote store under faults", command: remote },
        Part { name: "judges at full size", command: judges::command(root, Size::Full) },
        // Here and not in `ci`, which checks the links of the documents: mdBook takes 90 s of CPU time to install.
        Part { name: "the documentation site", command: book::command(root) },
        Part { name: "fuzz targets, ten minutes each", command: fuzz::command(root, "600") },
    ]
}

impl Settings {
    fn new() -> Settings {
        // 32 bits, because tests count up from their seed.
        let fresh = || (RandomState::new().hash_one(SystemTime::now()) as u32).to_string();
        let variable = |name: &'static str, default: &dyn Fn() -> String| {
            (name, env::var(name).unwrap_or_else(|_| default()))
        };
        let variables = vec![
            variable("PROPTEST_RNG_SEED", &fresh),
            variable("KEYLOOM_SEED", &fresh),
            variable("PROPTEST_CASES", &|| "1000".to_owned()),
            variable("ONCALL_SEEDS", &|| "10000".to_owned()),
            variable("KEYLOOM_KILLS", &|| "500".to_owned()),
        ];
        Settings { variables }
    }

    fn assignments(&self) -> String {
        let pairs = self.variables.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the date and the commit.
fn provenance(root: &Path) -> String {
    let output_of = |command: &mut Command| {
        let output =
            command.current_dir(root).output().ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let unknown = || "unknown".to_owned();
    let day = output_of(Command::new("date").args(["-u", "+%Y-%m-%d"])).unwrap_or_else(unknown);
    let commit = output_of(Command::new("git").args(["rev-parse", "--short", "HEAD"]));
    let changed = output_of(Command::new("git").args(["status", "--porcelain"]));
    let changed = changed.is_none_or(|changes| !changes.is_empty());
    let note = if changed { " with uncommitted changes" } else { "" };
    format!("{day} at commit `{}`{note}", commit.unwrap_or_else(unknown))
}
