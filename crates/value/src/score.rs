//! Scores of leaderboards, as key parts: the greatest sorts first.
//!
//! A rank is found without counting every better score. Each score adds to its *prefix counts*: rows
//! that count the scores that begin with the same bytes. The better scores are, byte by byte, the
//! prefixes that sort before.

use crate::{KeyBytes, Number, Value};

/// The length of the first prefix: the tag of a number, its sign, its exponent. Every further byte
/// ends a prefix of its own.
const FIRST_PREFIX_BYTES: usize = 3;

/// A number to rank by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score(KeyBytes);

impl Score {
    /// Creates the score of a number.
    pub fn new(number: &Number) -> Score {
        let mut key = KeyBytes::new();
        let pushed = key.push(&Value::N(Score::negated(number)));
        debug_assert!(pushed.is_ok(), "a number can be part of a key");
        Score(key)
    }

    /// Returns the negated number: converts a score to its key part, and back.
    pub fn negated(number: &Number) -> Number {
        let (coefficient, exponent) = number.parts();
        // The magnitude is the same, so it is in range.
        Number::from_parts(-coefficient, exponent).unwrap_or(*number)
    }

    /// Returns the key, or the beginning of one.
    pub fn into_key(self) -> KeyBytes {
        self.0
    }

    /// Returns the sort keys of the prefix counts it adds to; the first one counts all scores.
    pub fn prefix_count_keys(&self) -> impl Iterator<Item = KeyBytes> {
        self.lengths().enumerate().map(|(depth, length)| self.prefix_key(depth, length))
    }

    /// Returns the ranges of sort keys, both ends exclusive, whose prefix counts add up to the number
    /// of better scores.
    pub fn better_prefix_ranges(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let lengths: Vec<usize> = self.lengths().collect();
        let span = |(index, pair): (usize, &[usize])| {
            let mut from = depth_key(index + 1);
            let prefix = from.push_prefix(&Value::B(self.0.as_bytes()[..pair[0]].to_vec()));
            debug_assert!(prefix.is_ok(), "bytes can always begin like others");
            let own = self.prefix_key(index + 1, pair[1]);
            (from.into_vec(), KeyBytes::before(own.as_bytes()).to_vec())
        };
        lengths.windows(2).enumerate().map(span).collect()
    }

    /// Returns the lengths of its prefixes. Zero is shorter than all other scores.
    fn lengths(&self) -> impl Iterator<Item = usize> + use<> {
        let bytes = self.0.as_bytes().len();
        let first = FIRST_PREFIX_BYTES.min(bytes);
        [0, first].into_iter().chain(first + 1..=bytes)
    }

    /// Returns the sort key of the prefix count of its first `length` bytes.
    fn prefix_key(&self, depth: usize, length: usize) -> KeyBytes {
        let mut key = depth_key(depth);
        let pushed = key.push(&Value::B(self.0.as_bytes()[..length].to_vec()));
        debug_assert!(pushed.is_ok(), "bytes can be part of a key");
        key
    }
}

fn depth_key(depth: usize) -> KeyBytes {
    let mut key = KeyBytes::new();
    let pushed = key.push(&Value::from(depth as u64));
    debug_assert!(pushed.is_ok(), "a number can be part of a key");
    key
}
