//! The cost of the disk itself: a lower bound for every durable write.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use crate::{Latencies, Line, Outcome, Sample};

/// Appends 4 KB and syncs the data, many times.
pub(crate) fn measure(directory: &Path, probes: usize) -> Outcome<Line> {
    let path = directory.join("probe");
    let mut file = OpenOptions::new().append(true).create_new(true).open(&path)?;
    let bytes = [0x5a; 4096];
    let mut times = vec![];
    let start = Instant::now();
    for _ in 0..probes {
        let probe_start = Instant::now();
        file.write_all(&bytes)?;
        file.sync_data()?;
        times.push(probe_start.elapsed());
    }
    let calls_per_sec = probes as f64 / start.elapsed().as_secs_f64();
    std::fs::remove_file(path)?;
    let sample = Sample { calls_per_sec, latencies: Latencies::new(times) };
    Ok(Line::new("append 4 KB and fdatasync", "disk", &[sample]))
}
