//! The steps of `cargo xtask ci`, fastest to fail first.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::commands::{cargo, seconds, succeed};
use crate::judges::{self, Size};
use crate::{deny, tidy};

/// A check that must pass.
struct Step {
    /// Printed above its output.
    heading: &'static str,
    /// How to fix a failure.
    remedy: &'static str,
    action: Action,
}

enum Action {
    /// The style checks, in this process.
    Tidy,
    /// Licences, bans and sources of dependencies.
    Deny,
    /// Cargo with these arguments.
    Cargo(&'static [&'static str]),
    /// Cargo with these arguments, and the same random cases in every run.
    CargoTest(&'static [&'static str]),
    /// Cargo with these arguments, and warnings of rustdoc as errors.
    CargoDoc(&'static [&'static str]),
    /// Every example of every crate.
    Examples,
    /// The tests that install external software.
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
        remedy: "Each line above names a location and how to fix it; `cargo xtask tidy` runs only \
                 this step.",
        action: Action::Tidy,
    },
    Step {
        heading: "dependencies",
        remedy: "Use another package, or argue for a change of deny.toml in the commit message.",
        action: Action::Deny,
    },
    Step {
        heading: "clippy",
        remedy: "Fix the warnings above, or suppress a false positive with \
                 `#[expect(clippy::name, reason = \"...\")]`.",
        action: Action::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--test",
            "judges",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        heading: "tests",
        remedy: "Run only the failing test: `cargo test -p <package> <name>`. A printed seed \
                 reproduces the failure.",
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
        remedy: "Run the last example named above; it must exit without an error.",
        action: Action::Examples,
    },
    Step {
        heading: "judges",
        remedy: "They need Python 3, Node.js, npm, PyPI and Debian's packages. `cargo xtask judges` runs \
                 only this step.",
        action: Action::Judges,
    },
];

/// Runs every step, stopping at the first that fails.
pub(crate) fn run(root: &Path) -> ExitCode {
    let start = Instant::now();
    for (index, step) in STEPS.iter().enumerate() {
        println!("\n=== {}/{} {} ===", index + 1, STEPS.len(), step.heading);
        let step_start = Instant::now();
        let outcome = perform(&step.action, root);
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

fn perform(action: &Action, root: &Path) -> Result<(), String> {
    match action {
        Action::Tidy => match tidy::check(root)? {
            0 => Ok(()),
            findings => Err(format!("{findings} findings.")),
        },
        Action::Deny => deny::check(root),
        Action::Cargo(arguments) => succeed(cargo(root).args(*arguments)),
        Action::CargoTest(arguments) => {
            // A fixed seed, so that a change does not pass or fail by chance. Plain `cargo test`
            // draws new cases every time.
            let seed = env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| "2026".to_owned());
            let tests = &mut cargo(root);
            // Half of them wait for processes and other threads: as many threads as cores leave a third of the
            // time of two cores unused.
            let threads = env::var("RUST_TEST_THREADS").unwrap_or_else(|_| "3".to_owned());
            let settings = [("PROPTEST_RNG_SEED", seed), ("RUST_TEST_THREADS", threads)];
            succeed(tests.args(*arguments).envs(settings))
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

/// Returns the names of all examples in `crates/*/examples/`. They are unique in the workspace,
/// because cargo puts all of them into one folder.
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

/// Lists a directory, sorted.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let listing = listing.map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths: Vec<_> = listing.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}
