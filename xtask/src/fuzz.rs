//! `cargo xtask fuzz`: every fuzz target for a while, one after the other, with libFuzzer.
//!
//! The toolchain of the workspace does: coverage is counted by LLVM's own pass, and what address
//! sanitizer would find cannot be written without `unsafe`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::ci::{cargo, succeed};
use crate::tools::installed;

const VERSION: &str = "0.13.2";
/// How long each target runs if nobody says.
pub(crate) const SECONDS: &str = "120";
/// Longer inputs find little more, and take longer.
const INPUT_BYTES_MAX: usize = 4096;
/// One input may take so long, and so much memory.
const INPUT_SECONDS_MAX: usize = 20;
const MEMORY_MIB_MAX: usize = 2048;

/// Runs one target, or all of them also after one that fails, each for so many seconds.
pub(crate) fn run(root: &Path, seconds: &str, only: Option<&str>) -> ExitCode {
    match run_all(root, seconds, only) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// The task as a command, for those who run it among others.
pub(crate) fn command(root: &Path, seconds: &str) -> Command {
    let mut command = cargo(root);
    command.args(["xtask", "fuzz", seconds]);
    command
}

fn run_all(root: &Path, seconds: &str, only: Option<&str>) -> Result<(), String> {
    seconds.parse::<u32>().map_err(|_| format!("`{seconds}` is no number of seconds."))?;
    let targets = targets(root)?;
    let wanted: Vec<&String> =
        targets.iter().filter(|target| only.is_none_or(|only| only == *target)).collect();
    if wanted.is_empty() {
        return Err(format!("There is no such target. There are: {}.", targets.join(", ")));
    }
    let program = installed(root, "cargo-fuzz", VERSION)?;
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
             `cargo fuzz run --sanitizer none TARGET FILE` repeats one. Fix it, and keep it as a test.",
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

/// Where a target begins: inputs that are kept, and for models the ones that tests have.
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
