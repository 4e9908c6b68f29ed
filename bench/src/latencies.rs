//! Latencies of calls.

use std::time::Duration;

/// The latencies of many calls, sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    sorted: Vec<Duration>,
}

impl Latencies {
    pub(crate) fn new(mut times: Vec<Duration>) -> Latencies {
        times.sort_unstable();
        Latencies { sorted: times }
    }

    pub(crate) fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Returns a percentile; zero if there were no calls.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.sorted.len() * percent).div_ceil(100);
        self.sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    pub(crate) fn max(&self) -> Duration {
        self.percentile(100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_measured_time() {
        let latencies = Latencies::new((1..=200).rev().map(Duration::from_micros).collect());
        assert_eq!(latencies.percentile(50), Duration::from_micros(100));
        assert_eq!(latencies.percentile(99), Duration::from_micros(198));
        assert_eq!(latencies.max(), Duration::from_micros(200));
        assert_eq!(Latencies::default().max(), Duration::ZERO);
    }
}
