//! Latencies of calls from many threads.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Latencies since the last `take`.
#[derive(Debug, Default)]
pub(crate) struct Latencies(Mutex<Vec<Duration>>);

/// Sorted latencies.
#[derive(Debug)]
pub(crate) struct Sorted(Vec<Duration>);

impl Latencies {
    pub(crate) fn add(&self, time: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(time);
    }

    pub(crate) fn take(&self) -> Sorted {
        let mut times = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort_unstable();
        Sorted(times)
    }
}

impl Sorted {
    fn percentile_ms(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        let time = self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default();
        time.as_secs_f64() * 1e3
    }
}

impl fmt::Display for Sorted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, max] = [50, 99, 100].map(|percent| self.percentile_ms(percent));
        write!(f, "{} | {p50:.1} ms | {p99:.1} ms | {max:.0} ms", self.0.len())
    }
}
