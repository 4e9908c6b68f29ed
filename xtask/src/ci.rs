//! The steps of `cargo xtask ci`, in the order of how soon they can fail.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::judges::{self, Size};
use crate::{deny, tidy};

/// One thing that must pass.
struct Step {
    /// What the reader of the output sees above it.
    heading: &'static str,
    /// What to do when it fails.
    remedy: &'static str,
    action: Action,
}

enum Action {
    /// The style budgets, in this process.
    Tidy,
    /// What we build with.
    Deny,
    /// Cargo with these arguments.
    Cargo(&'static [&'static str]),
    /// Cargo with these arguments, and the same random cases in every run.
    CargoTest(&'static [&'static str]),
    /// Cargo with these arguments, and warnings of rustdoc as errors.
    CargoDoc(&'static [&'static str]),
    /// Every example of every crate, because a reader tries them first.
    Examples,
    /// The tests that install foreign software.
    Judges,
}

const STEPS: &[Step] = &[
    Step {
        heading: "formatting",
        remedy: "Run `cargo fmt --all`.",
        action: Action::Cargo(&["fmt", "--all", "--", "--check"]),
    },
    Step {
        heading: "tidy",
        remedy: "Each line above names a place and what to do there; `cargo xtask tidy` runs this \
                 step alone.",
        action: Action::Tidy,
    },
    Step {
        heading: "dependencies",
        remedy: "Use another package, or argue for a change of deny.toml in the commit message.",
        action: Action::Deny,
    },
    Step {
        heading: "clippy",
        remedy: "Fix the warnings above; one that is wrong gets \
                 `#[expect(clippy::name, reason = \"...\")]`.",
        action: Action::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            "keyloom-cli/judges",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        heading: "tests",
        remedy: "Run the failing test alone: `cargo test -p <package> <name>`. If it printed a \
                 seed, the seed repeats it.",
        action: Action::CargoTest(&["test", "--workspace", "--locked"]),
    },
    Step {
        heading: "documentation",
        remedy: "Fix the links and code blocks named above; `cargo doc --no-deps --open` shows \
                 the pages.",
        action: Action::CargoDoc(&["doc", "--workspace", "--no-deps", "--locked"]),
    },
    Step {
        heading: "examples",
        remedy: "Run the last example named above alone; it must end without an error.",
        action: Action::Examples,
    },
    Step {
        heading: "judges",
        remedy: "They need Python 3, Node.js, npm, PyPI and Debian's packages. `cargo xtask judges` runs \
                 this step alone.",
        action: Action::Judges,
    },
];

/// Runs every step, stopping at the first that fails.
pub(crate) fn run(root: &Path) -> ExitCode {
    let start = Instant::now();
    for (index, step) in STEPS.iter().enumerate() {
        println!("\n=== {}/{} {} ===", index + 1, STEPS.len(), step.heading);
        let step_start = Instant::now();
        let outcome = act(&step.action, root);
        let elapsed = seconds(step_start.elapsed());
        if let Err(failure) = outcome {
            eprintln!("\n{} failed after {elapsed}: {failure}\n{}", step.heading, step.remedy);
            return ExitCode::FAILURE;
        }
        println!("--- {} passed in {elapsed}", step.heading);
    }
    println!("\nAll {} steps passed in {}.", STEPS.len(), seconds(start.elapsed()));
    ExitCode::SUCCESS
}

fn act(action: &Action, root: &Path) -> Result<(), String> {
    match action {
        Action::Tidy => match tidy::check(root)? {
            0 => Ok(()),
            complaints => Err(format!("complaints: {complaints}.")),
        },
        Action::Deny => deny::check(root),
        Action::Cargo(arguments) => succeed(cargo(root).args(*arguments)),
        Action::CargoTest(arguments) => {
            // A change passes or fails by what it is, not by luck. `cargo test` on its own draws
            // other cases every time.
            let seed = env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| "2026".to_owned());
            succeed(cargo(root).args(*arguments).env("PROPTEST_RNG_SEED", seed))
        }
        Action::CargoDoc(arguments) => {
            succeed(cargo(root).args(*arguments).env("RUSTDOCFLAGS", "-D warnings"))
        }
        Action::Examples => run_examples(root),
        Action::Judges => succeed(&mut judges::command(root, Size::Reduced)),
    }
}

fn run_examples(root: &Path) -> Result<(), String> {
    for name in example_names(root)? {
        println!("Example {name}");
        succeed(cargo(root).args(["run", "--quiet", "--locked", "--example", &name]))?;
    }
    Ok(())
}

/// The names of all examples in `crates/*/examples/`. They are unique in the workspace, because
/// cargo puts all of them into one folder.
fn example_names(root: &Path) -> Result<Vec<String>, String> {
    let mut names = vec![];
    for package in entries(&root.join("crates"))? {
        let examples = package.join("examples");
        if !examples.is_dir() {
            continue;
        }
        let programs = entries(&examples)?;
        let stems = programs.iter().filter_map(|program| program.file_stem());
        names.extend(stems.map(|stem| stem.to_string_lossy().into_owned()));
    }
    Ok(names)
}

/// What is in a directory, sorted.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let listing = listing.map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths: Vec<_> = listing.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

/// The cargo that runs this program, in the workspace's folder.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("it ended with {status}.")),
        Err(error) => Err(format!("it could not be started: {error}.")),
    }
}

/// A time as the output names it.
pub(crate) fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}
