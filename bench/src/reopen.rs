//! Time to open after a kill, by the size of the log.
//!
//! A child process fills a directory and reports it; then it is killed and the directory opened.
//! Killing a process loses nothing in the page cache: this measures replay, not durability.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::arguments::Fill;
use crate::{
    DataDirectory, Kind, Latencies, Line, Outcome, Rows, Sample, Settings, SpeedMeasure,
    checkpoints,
};

/// What the child prints when it has written everything.
const FILLED: &str = "filled";
/// The most runs per size; loading takes longer than reopening.
const RUNS_MAX: usize = 3;

/// Measures every size of log for every contender with a log.
pub(crate) fn compare(directory: &DataDirectory, settings: &Settings) -> Outcome<Vec<Line>> {
    let mut lines = vec![];
    for log_bytes in &settings.reopen_log_bytes {
        let work = format!("reopen after kill, {} MiB of log", log_bytes >> 20);
        eprintln!("Measuring: {work}.");
        let kinds = Kind::ALL.iter().copied().filter(|kind| kind.has_log());
        let line = |kind: Kind| {
            let fill = Fill { kind, log_bytes: *log_bytes };
            Ok(Line::new(&work, kind.name(), &[measure(fill, directory, settings)?]))
        };
        let compared = kinds.map(line).collect::<Outcome<_>>()?;
        lines.extend(Line::compared_with(Kind::LogRedb.name(), SpeedMeasure::Rate, compared));
    }
    Ok(lines)
}

fn measure(fill: Fill, directory: &DataDirectory, settings: &Settings) -> Outcome<Sample> {
    let mut times = vec![];
    for run in 0..settings.rounds.min(RUNS_MAX) {
        let name = format!("reopen-{}-{}-{run}", fill.kind.name(), fill.log_bytes);
        times.push(reopen(fill, &directory.subdirectory(&name)?, settings)?);
    }
    let busy: Duration = times.iter().sum();
    let calls_per_sec = times.len() as f64 / busy.as_secs_f64();
    Ok(Sample { calls_per_sec, latencies: Latencies::new(times) })
}

fn reopen(fill: Fill, directory: &Path, settings: &Settings) -> Outcome<Duration> {
    let mut child = Command::new(env::current_exe()?)
        .args(["--fill", fill.kind.name(), &fill.log_bytes.to_string()])
        .args(["--memory", &(settings.memory_bytes >> 20).to_string()])
        .args(["--rows", &settings.rows.to_string(), "--dir"])
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let filled = wait_until_filled(&mut child);
    child.kill()?;
    child.wait()?;
    filled?;
    let start = Instant::now();
    let contender = fill.kind.open(directory, settings.memory_bytes)?;
    let elapsed = start.elapsed();
    drop(contender);
    std::fs::remove_dir_all(directory)?;
    Ok(elapsed)
}

fn wait_until_filled(child: &mut Child) -> Outcome<()> {
    let output = child.stdout.take().ok_or("The child has no output.")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    if line.trim_end() != FILLED {
        return Err("The child exited before it had filled the directory.".into());
    }
    Ok(())
}

/// Runs in the child: fills the directory, reports it and waits to be killed.
pub(crate) fn fill(fill: &Fill, settings: &Settings) -> Outcome<()> {
    let rows = Rows::new(settings.rows);
    let contender = fill.kind.open(&settings.directory, settings.memory_bytes)?;
    contender.load(&rows)?;
    checkpoints::measure(contender.as_ref(), &rows, fill.log_bytes)?;
    println!("{FILLED}");
    io::stdout().flush()?;
    // The input ends only if the parent is gone, which then will not kill this process.
    io::stdin().read_to_end(&mut vec![])?;
    Ok(())
}
