//! `cargo xtask fuzz`: runs every fuzz target with libFuzzer, one after the other.
//!
//! The stable toolchain of the workspace suffices: LLVM counts coverage, and the address sanitizer
//! finds only errors that need `unsafe`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::commands::{cargo, succeed};
use crate::tools::{Tool, installed};

const FUZZ: Tool = Tool {
    package: "cargo-fuzz",
    version: "0.13.2",
    shown_version: "cargo-fuzz 0.13.2",
    options: &[],
};
/// How long each target runs by default.
pub(crate) const SECONDS: &str = "120";
/// Longer inputs find little more and are slower.
const INPUT_BYTES_MAX: usize = 4096;
/// Limits of one input.
const INPUT_SECONDS_MAX: usize = 20;
const MEMORY_MIB_MAX: usize = 2048;

/// Runs one target, or all of them, each for `seconds`. Continues after a failure.
pub(crate) fn run(root: &Path, seconds: &str, only: Option<&str>) -> ExitCode {
    match run_all(root, seconds, only) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the command that runs this task.
pub(crate) fn command(root: &Path, seconds: &str) -> Command {
    let mut command = cargo(root);
    command.args(["xtask", "fuzz", seconds]);
    command
}

fn run_all(root: &Path, seconds: &str, only: Option<&str>) -> Result<(), String> {
    seconds.parse::<u32>().map_err(|_| format!("Invalid number of seconds: `{seconds}`."))?;
    let targets = targets(root)?;
    let wanted: Vec<&String> =
        targets.iter().filter(|target| only.is_none_or(|only| only == *target)).collect();
    if wanted.is_empty() {
        return Err(format!("Unknown target. Possible values: {}.", targets.join(", ")));
    }
    let program = installed(root, &FUZZ)?;
    let mut failed = vec![];
    for target in wanted {
        println!("\n=== fuzz {target} ===");
        if succeed(&mut fuzz(root, &program, target, seconds)?).is_err() {
            failed.push(target.as_str());
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "\nFailed: {}. The inputs are in fuzz/artifacts; \
             `cargo fuzz run --sanitizer none TARGET FILE` repeats one. Fix it and add it as a test.",
            failed.join(", ")
        )),
    }
}

fn fuzz(root: &Path, program: &Path, target: &str, seconds: &str) -> Result<Command, String> {
    let corpus = root.join("target/fuzz-corpus").join(target);
    fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
    let mut command = cargo(root);
    let bin = program.parent().unwrap_or(program).to_path_buf();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([bin].into_iter().chain(env::split_paths(&path)));
    command.env("PATH", path.map_err(|error| error.to_string())?);
    command.args(["fuzz", "run", "--sanitizer", "none", "--target-dir", "target/fuzz", target]);
    command.arg(corpus).args(seeds(root, target)).arg("--");
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={INPUT_BYTES_MAX}"));
    command.arg(format!("-timeout={INPUT_SECONDS_MAX}"));
    command.arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}")).arg("-print_final_stats=1");
    Ok(command)
}

/// Returns the seed inputs of a target: checked-in ones, and for models also those of tests.
fn seeds(root: &Path, target: &str) -> Vec<PathBuf> {
    let models = (target == "model").then(|| root.join("crates/model/tests/changes"));
    let own = root.join("fuzz/seeds").join(target);
    [Some(own), models].into_iter().flatten().filter(|folder| folder.is_dir()).collect()
}

fn targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("fuzz/fuzz_targets");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}
