//! Measurements of a database, and their formatting.

use std::time::{Duration, Instant};

/// The measurements of a database.
pub(crate) struct Measured {
    pub(crate) load: Duration,
    pub(crate) bytes: u64,
    /// Matches and time of each query.
    pub(crate) queries: Vec<(u64, Duration)>,
}

/// Returns the median of as many runs as fit into a few seconds.
pub(crate) fn median<T>(mut run: impl FnMut() -> T) -> Duration {
    let (began, mut times) = (Instant::now(), vec![]);
    while times.len() < 5 || (times.len() < 1001 && began.elapsed() < Duration::from_secs(3)) {
        let start = Instant::now();
        std::hint::black_box(run());
        times.push(start.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

pub(crate) fn format_time(time: Duration) -> String {
    match time.as_nanos() {
        nanos @ 0..10_000_000 => format!("{} µs", nanos / 1000),
        nanos => format!("{:.1} ms", nanos as f64 / 1e6),
    }
}

/// Returns the peak memory of this process in MiB, if the system reports it.
pub(crate) fn memory_peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib / 1024)
}
