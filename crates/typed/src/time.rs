//! Times, as fields have them. Calendars are the business of other libraries.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyloom::Value;

/// A time: milliseconds since the start of 1970 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    ms: i64,
}

impl Time {
    /// The time with these milliseconds.
    pub const fn from_ms(ms: i64) -> Time {
        Time { ms }
    }

    /// Its milliseconds.
    pub const fn ms(self) -> i64 {
        self.ms
    }
}

impl From<Time> for Value {
    fn from(time: Time) -> Value {
        time.ms.into()
    }
}

impl From<SystemTime> for Time {
    /// Rounds down to milliseconds. Times that no field can have become the first or the last one.
    fn from(time: SystemTime) -> Time {
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Time::from_ms(ms(since)),
            Err(before) => {
                let before = before.duration();
                let whole = ms(before);
                let is_rounded = before.subsec_nanos() % 1_000_000 != 0;
                Time::from_ms((-whole).saturating_sub(i64::from(is_rounded)))
            }
        }
    }
}

impl From<Time> for SystemTime {
    fn from(time: Time) -> SystemTime {
        let distance = Duration::from_millis(time.ms.unsigned_abs());
        match time.ms < 0 {
            false => UNIX_EPOCH + distance,
            true => UNIX_EPOCH - distance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_down_and_return() {
        for (nanos, ms) in [(0, 0), (999_999, 0), (1_000_000, 1), (1_999_999, 1)] {
            assert_eq!(Time::from(UNIX_EPOCH + Duration::from_nanos(nanos)).ms(), ms);
        }
        for (nanos, ms) in [(1, -1), (1_000_000, -1), (1_000_001, -2)] {
            assert_eq!(Time::from(UNIX_EPOCH - Duration::from_nanos(nanos)).ms(), ms);
        }
        for ms in [-62_167_219_200_000, -1, 0, 1, 253_402_300_799_999] {
            assert_eq!(Time::from(SystemTime::from(Time::from_ms(ms))).ms(), ms);
        }
    }
}
