//! `cargo xtask soak`: everything random at full size, with a fresh seed, as long as it takes.
//!
//! Nothing that a change must pass depends on luck, so `ci` always draws the same cases. Here each
//! run draws others. A failure is repeated by the seed that the run prints first.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Instant, SystemTime};

use crate::ci::{cargo, seconds, succeed};
use crate::fuzz;
use crate::judges::{self, Size};

/// Sizes and seeds. What the environment names already stays as it is there.
struct Draw {
    variables: Vec<(&'static str, String)>,
}

/// One part of the run, and what came of it.
struct Part {
    name: &'static str,
    command: Command,
}

/// Runs all parts, also after one that fails, and prints a table for `docs/testing.md`.
pub(crate) fn run(root: &Path) -> ExitCode {
    let draw = Draw::new();
    println!("{}\nRepeat it with: {} cargo xtask soak", provenance(root), draw.in_words());
    let mut rows = vec![];
    let mut failed = 0;
    for Part { name, mut command } in parts(root) {
        println!("\n=== {name} ===");
        let start = Instant::now();
        let outcome = succeed(command.envs(draw.variables.iter().map(|(key, value)| (key, value))));
        failed += usize::from(outcome.is_err());
        let result =
            outcome.err().map_or_else(|| "passed".to_owned(), |why| format!("FAILED: {why}"));
        rows.push(format!("| {name} | {} | {result} |", seconds(start.elapsed())));
    }
    println!("\n{}, `{}`:\n", provenance(root), draw.in_words());
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
        Part { name: "fuzz targets, ten minutes each", command: fuzz::command(root, "600") },
    ]
}

impl Draw {
    fn new() -> Draw {
        // 32 bits, because worlds count up from their seed.
        let fresh = || (RandomState::new().hash_one(SystemTime::now()) as u32).to_string();
        let variable = |name: &'static str, otherwise: &dyn Fn() -> String| {
            (name, env::var(name).unwrap_or_else(|_| otherwise()))
        };
        let variables = vec![
            variable("PROPTEST_RNG_SEED", &fresh),
            variable("KEYLOOM_SEED", &fresh),
            variable("PROPTEST_CASES", &|| "1000".to_owned()),
            variable("ONCALL_SEEDS", &|| "10000".to_owned()),
            variable("KEYLOOM_KILLS", &|| "500".to_owned()),
        ];
        Draw { variables }
    }

    fn in_words(&self) -> String {
        let words = self.variables.iter().map(|(name, value)| format!("{name}={value}"));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The day and the commit, as documents name them.
fn provenance(root: &Path) -> String {
    let said = |command: &mut Command| {
        let output =
            command.current_dir(root).output().ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let unknown = || "unknown".to_owned();
    let day = said(Command::new("date").args(["-u", "+%Y-%m-%d"])).unwrap_or_else(unknown);
    let commit = said(Command::new("git").args(["rev-parse", "--short", "HEAD"]));
    let changed = said(Command::new("git").args(["status", "--porcelain"]));
    let changed = changed.is_none_or(|changes| !changes.is_empty());
    let note = if changed { " with uncommitted changes" } else { "" };
    format!("{day} at commit `{}`{note}", commit.unwrap_or_else(unknown))
}
