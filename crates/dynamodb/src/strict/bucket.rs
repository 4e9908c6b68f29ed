//! A token bucket: capacity per second, with what was left unused.

use keyloom_store::Time;

/// Capacity that refills over time. What is taken may exceed what is left, since the service learns
/// the units of a request only by executing it; then there is none until the debt is paid.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    per_second: f64,
    left_max: f64,
    left: f64,
    refilled: Time,
}

impl Bucket {
    /// A bucket that keeps up to `seconds` of unused capacity, with one second of it to begin with.
    pub(super) fn new(per_second: f64, seconds: f64, now: Time) -> Bucket {
        let left_max = per_second * seconds.max(1.0);
        Bucket { per_second, left_max, left: per_second, refilled: now }
    }

    /// Whether a request is admitted.
    pub(super) fn has_room(&mut self, now: Time) -> bool {
        let seconds = now.0.saturating_sub(self.refilled.0) as f64 / 1000.0;
        self.left = (self.left + seconds * self.per_second).min(self.left_max);
        self.refilled = self.refilled.max(now);
        self.left > 0.0
    }

    /// Consumes the units of an admitted request.
    pub(super) fn take(&mut self, units: f64) {
        self.left -= units;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How many of `requests`, each a time and its units, a bucket admits.
    fn admitted(bucket: &mut Bucket, requests: &[(u64, f64)]) -> f64 {
        let mut units = 0.0;
        for (at, wanted) in requests {
            if bucket.has_room(Time(*at)) {
                bucket.take(*wanted);
                units += wanted;
            }
        }
        units
    }

    #[test]
    fn unused_capacity_serves_one_burst() {
        let mut bucket = Bucket::new(10.0, 300.0, Time(0));
        let burst: Vec<(u64, f64)> = (0..5000).map(|_| (400_000, 1.0)).collect();
        assert_eq!(admitted(&mut bucket, &burst), 3000.0);
        assert_eq!(admitted(&mut bucket, &[(400_000, 1.0); 10]), 0.0);
        assert_eq!(admitted(&mut bucket, &[(401_000, 1.0); 50]), 10.0);
    }

    proptest! {
        /// Over any time, no more is admitted than the rate allows, plus what was kept and the debt
        /// of one request; and if it is asked for all the time, no less.
        #[test]
        fn sustained_load_is_limited_to_the_rate(
            units in 0.5..20.0_f64,
            rate in 1.0..100.0_f64,
            kept in 0.0..10.0_f64,
        ) {
            let mut bucket = Bucket::new(rate, kept, Time(0));
            let ask: Vec<(u64, f64)> = (0..60_000).step_by(5).map(|at| (at, units)).collect();
            let sum = admitted(&mut bucket, &ask);
            let offered = units * ask.len() as f64;
            let allowed = rate * (60.0 + kept.max(1.0)) + units;
            prop_assert!(sum <= allowed);
            prop_assert!(sum >= (rate * 59.0).min(offered - units));
        }
    }
}
