//! Attempts at one piece of work that concurrent writers can invalidate: the first ones follow each
//! other at once, later ones wait a random time (exponential back-off with full jitter), until a
//! deadline. Every retry loop of the library that writes uses this.

use std::time::Duration;

use crate::error::Error;
use crate::stamp::Stamps;

/// Attempts that do not wait: one retry at once, because most conflicts are with one other writer,
/// which has finished by then. With more, a crowd on one row sends more transactions and commits
/// fewer.
const IMMEDIATE: u32 = 2;
/// The bound of the first wait. It doubles with every attempt, up to [`WAIT_MAX`].
const WAIT_MIN: Duration = Duration::from_millis(1);
/// The bound of every later wait.
const WAIT_MAX: Duration = Duration::from_millis(64);
/// No attempt starts later than this after the first one.
const DEADLINE: Duration = Duration::from_secs(10);
/// Random waits can all be short; this bounds the number of attempts whatever they are.
const ATTEMPTS_MAX: u32 = 4096;

/// The attempts of one loop.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    stamps: &'a Stamps,
    started_ms: u64,
    /// How long it has waited. Counts against the deadline even if the clock does not move.
    waited: Duration,
    made: u32,
}

impl<'a> Attempts<'a> {
    /// Takes time and randomness from the source of stamps.
    pub(crate) fn new(stamps: &'a Stamps) -> Attempts<'a> {
        let started_ms = stamps.clock().now().0;
        Attempts { stamps, started_ms, waited: Duration::ZERO, made: 0 }
    }

    /// Returns when the next attempt may start.
    ///
    /// # Errors
    ///
    /// [`Error::Contended`] if the deadline has passed; the first attempt always starts.
    pub(crate) async fn next(&mut self) -> Result<(), Error> {
        if let Some(bound) = wait_bound(self.made) {
            if self.made >= ATTEMPTS_MAX || self.elapsed() >= DEADLINE {
                return Err(Error::Contended);
            }
            let bound_us = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
            let wait = Duration::from_micros(self.stamps.below(bound_us + 1)?);
            self.waited += wait;
            self.stamps.clock().sleep(wait).await;
        }
        self.made += 1;
        Ok(())
    }

    /// How long ago the first attempt was.
    pub(crate) fn elapsed(&self) -> Duration {
        let now_ms = self.stamps.clock().now().0;
        self.waited.max(Duration::from_millis(now_ms.saturating_sub(self.started_ms)))
    }
}

/// The longest wait before the next attempt, when so many were made; none if it starts at once.
fn wait_bound(made: u32) -> Option<Duration> {
    let doublings = made.checked_sub(IMMEDIATE)?;
    Some(WAIT_MIN.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use keyloom_store::Clock;
    use keyloom_testkit::ManualClock;
    use pollster::block_on;

    use super::*;
    use crate::stamp::Entropy;

    /// Bytes from a counter that a multiplication scatters.
    #[derive(Debug, Default)]
    struct Scattered(AtomicU64);

    impl Entropy for Scattered {
        fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
            for byte in bytes {
                let next = self.0.fetch_add(1, Ordering::Relaxed);
                *byte = next.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[0];
            }
            Ok(())
        }
    }

    #[derive(Debug)]
    struct Zeros;

    impl Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
            bytes.fill(0);
            Ok(())
        }
    }

    fn stamps(clock: &ManualClock, entropy: impl Entropy) -> Stamps {
        Stamps::new(Arc::new(clock.clone()), Arc::new(entropy))
    }

    /// Makes attempts until no more are allowed; returns how many, and the waits between them.
    fn exhaust(clock: &ManualClock, stamps: &Stamps) -> (u32, Vec<Duration>) {
        let (mut attempts, mut waits) = (Attempts::new(stamps), vec![]);
        loop {
            let before = clock.slept();
            match block_on(attempts.next()) {
                Ok(()) => waits.push(clock.slept() - before),
                Err(Error::Contended) => return (attempts.made, waits),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn waits_are_random_and_bounded_by_a_power_of_two_up_to_a_cap() {
        let clock = ManualClock::new();
        let (_, waits) = exhaust(&clock, &stamps(&clock, Scattered::default()));
        let (first, later) = waits.split_at(IMMEDIATE as usize);
        assert!(first.iter().all(Duration::is_zero), "{first:?}");
        for (doublings, wait) in later.iter().enumerate() {
            let bound = WAIT_MIN * 2_u32.pow(u32::try_from(doublings.min(20)).unwrap());
            assert!(*wait <= bound.min(WAIT_MAX), "{doublings}: {wait:?}");
        }
        let capped = &later[20..];
        let sum: Duration = capped.iter().sum();
        let mean = sum / u32::try_from(capped.len()).unwrap();
        assert!((WAIT_MAX / 3..WAIT_MAX * 2 / 3).contains(&mean), "full jitter: {mean:?}");
    }

    #[test]
    fn attempts_end_at_the_deadline_even_if_the_clock_stands_still() {
        let clock = ManualClock::new();
        let (made, waits) = exhaust(&clock, &stamps(&clock, Scattered::default()));
        let waited: Duration = waits.iter().sum();
        assert!((DEADLINE..DEADLINE + WAIT_MAX).contains(&waited), "{waited:?}");
        assert!(made < ATTEMPTS_MAX, "{made}");
    }

    #[test]
    fn slow_attempts_count_against_the_deadline() {
        let clock = ManualClock::new();
        let stamps = stamps(&clock, Scattered::default());
        let mut attempts = Attempts::new(&stamps);
        let began_ms = clock.now().0;
        while block_on(attempts.next()).is_ok() {
            clock.advance_ms(1000);
        }
        assert!(Duration::from_millis(clock.now().0 - began_ms) <= DEADLINE);
    }

    #[test]
    fn attempts_end_even_if_every_wait_is_zero() {
        let clock = ManualClock::new();
        assert_eq!(exhaust(&clock, &stamps(&clock, Zeros)).0, ATTEMPTS_MAX);
    }
}
