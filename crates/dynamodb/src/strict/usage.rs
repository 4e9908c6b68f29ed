//! What a partition consumed: in all, in the last minute, in its busiest second.

use keyloom_store::Time;

const MINUTE: usize = 60;

/// Reading or writing: partitions have capacity for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    Read,
    Write,
}

impl Access {
    pub(super) fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
        }
    }
}

/// Units that a request consumed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub(super) access: Access,
    pub(super) units: f64,
}

/// Units of one kind over time.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    total: f64,
    /// Units by second, of the minute that ends with `second`.
    seconds: [f64; MINUTE],
    second: u64,
    busiest: f64,
}

/// What a partition consumed and refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    pub(super) read: Meter,
    pub(super) write: Meter,
    pub(super) throttled: u64,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter { total: 0.0, seconds: [0.0; MINUTE], second: 0, busiest: 0.0 }
    }
}

impl Meter {
    fn add(&mut self, units: f64, now: Time) {
        self.advance(now);
        self.total += units;
        let this = &mut self.seconds[slot(self.second)];
        *this += units;
        self.busiest = self.busiest.max(*this);
    }

    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// Returns the most units of any second.
    pub(super) fn busiest(&self) -> f64 {
        self.busiest
    }

    /// Returns the units per second of the last minute.
    pub(super) fn per_second(&self, now: Time) -> f64 {
        let mut meter = self.clone();
        meter.advance(now);
        meter.seconds.iter().sum::<f64>() / MINUTE as f64
    }

    /// Forgets the seconds that are more than a minute ago.
    fn advance(&mut self, now: Time) {
        let second = now.secs().max(self.second);
        for passed in (self.second + 1..=second).rev().take(MINUTE) {
            self.seconds[slot(passed)] = 0.0;
        }
        self.second = second;
    }
}

fn slot(second: u64) -> usize {
    usize::try_from(second % MINUTE as u64).unwrap_or_default()
}

impl Usage {
    pub(super) fn add(&mut self, used: Used, now: Time) {
        match used.access {
            Access::Read => self.read.add(used.units, now),
            Access::Write => self.write.add(used.units, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_later_units_are_only_in_the_total() {
        let mut meter = Meter::default();
        for ms in (0..10_000).step_by(10) {
            meter.add(3.0, Time(1_000_000 + ms));
        }
        let now = Time(1_009_990);
        assert_eq!((meter.total(), meter.busiest()), (3000.0, 300.0));
        assert_eq!(meter.per_second(now), 50.0);
        assert_eq!(meter.per_second(Time(now.0 + 55_000)), 25.0);
        assert_eq!(meter.per_second(Time(now.0 + 600_000)), 0.0);
        assert_eq!(meter.total(), 3000.0);
    }
}
