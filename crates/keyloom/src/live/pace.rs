//! When the feed is read of a store that cannot say that something has changed: at intervals.

use std::time::Duration;

use crate::events::{QUICK_MS, events_ms_max};

/// The pace of a process. Whoever reads the feed for all keeps to it, however often that is somebody else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// How long to rest after the last read.
    rest_ms: i64,
    read_ms: i64,
    /// How long somebody has rested since, which a clock need not show.
    rested_ms: i64,
    /// How many writes this process had begun when it was asked last.
    writes: u64,
}

impl Pace {
    /// How long to rest before this is asked again; none if the feed is to be read now. Once this process has
    /// begun to write, the rest is short: the feed follows a little later.
    pub(super) fn left(&mut self, now_ms: i64, writes: u64) -> Option<Duration> {
        if self.writes != writes {
            (self.writes, self.rest_ms) = (writes, self.rest_ms.min(QUICK_MS));
        }
        let passed_ms = now_ms.saturating_sub(self.read_ms).max(self.rested_ms);
        let left_ms = self.rest_ms.saturating_sub(passed_ms).min(QUICK_MS);
        let left_ms = u64::try_from(left_ms).ok().filter(|left_ms| *left_ms > 0);
        left_ms.map(Duration::from_millis)
    }

    pub(super) fn note_rest(&mut self, rest: Duration) {
        self.rested_ms += i64::try_from(rest.as_millis()).unwrap_or(QUICK_MS);
    }

    /// Decides how long to rest after a read: at most as long as the workers of an idle process, whose looks
    /// take as many requests.
    pub(super) fn note(&mut self, read: Read) {
        let Read { now_ms, shards, is_full, has_changed } = read;
        (self.read_ms, self.rested_ms) = (now_ms, 0);
        self.rest_ms = match (is_full, has_changed) {
            (true, _) => 0,
            (false, true) => QUICK_MS,
            (false, false) => (self.rest_ms * 2).clamp(QUICK_MS, events_ms_max(shards)),
        };
    }
}

/// A read of the feed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) now_ms: i64,
    /// How many shards were read, each by a request.
    pub(super) shards: usize,
    /// Whether there may be more at once.
    pub(super) is_full: bool,
    pub(super) has_changed: bool,
}
