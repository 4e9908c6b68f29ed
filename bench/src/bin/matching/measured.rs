//! What was measured of a database, and how it is shown.

use std::time::{Duration, Instant};

/// What a database took.
pub(crate) struct Measured {
    pub(crate) load: Duration,
    pub(crate) bytes: u64,
    /// How many were found, and how long it took.
    pub(crate) questions: Vec<(u64, Duration)>,
}

/// The median of as many runs as fit into some seconds.
pub(crate) fn median<T>(mut run: impl FnMut() -> T) -> Duration {
    let (began, mut times) = (Instant::now(), vec![]);
    while times.len() < 5 || (times.len() < 1001 && began.elapsed() < Duration::from_secs(3)) {
        let asked = Instant::now();
        std::hint::black_box(run());
        times.push(asked.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

pub(crate) fn shown(time: Duration) -> String {
    match time.as_nanos() {
        nanos @ 0..10_000_000 => format!("{} µs", nanos / 1000),
        nanos => format!("{:.1} ms", nanos as f64 / 1e6),
    }
}

/// The most memory that this process has used, in MiB, if the system says so.
pub(crate) fn memory_peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib / 1024)
}
