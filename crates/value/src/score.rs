//! Numbers by which things are ranked, as parts of keys: the greatest comes first.
//!
//! How many are better is found without counting them. Each score adds to its *steps*, rows that say
//! how many scores begin with the same bytes; the better ones are, byte by byte, the steps before.

use crate::{KeyBytes, Number, Value};

/// Bytes that the first step has: the tag of a number, its sign, its exponent. All that come after
/// are steps of their own.
const FIRST_STEP: usize = 3;

/// A number by which something is ranked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score(KeyBytes);

impl Score {
    /// The score of a number.
    pub fn new(number: &Number) -> Score {
        let mut key = KeyBytes::new();
        let pushed = key.push(&Value::N(Score::negated(number)));
        debug_assert!(pushed.is_ok(), "a number can be part of a key");
        Score(key)
    }

    /// The same magnitude on the other side of zero: what a score is in a key, and what a part of a
    /// key is as a score.
    pub fn negated(number: &Number) -> Number {
        let (coefficient, exponent) = number.parts();
        // The magnitude is the same, so it fits.
        Number::from_parts(-coefficient, exponent).unwrap_or(*number)
    }

    /// As a key, or the beginning of one.
    pub fn into_key(self) -> KeyBytes {
        self.0
    }

    /// The sort keys of the steps to which it adds; the first one is that of all scores.
    pub fn steps(&self) -> impl Iterator<Item = KeyBytes> {
        self.lengths().enumerate().map(|(depth, length)| self.step(depth, length))
    }

    /// The sort keys, from and to, of the steps that together say how many scores are better. None
    /// of them is an end itself.
    pub fn better_steps(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let lengths: Vec<usize> = self.lengths().collect();
        let span = |(index, pair): (usize, &[usize])| {
            let mut from = depth_key(index + 1);
            let prefix = from.push_prefix(&Value::B(self.0.as_bytes()[..pair[0]].to_vec()));
            debug_assert!(prefix.is_ok(), "bytes can always begin like others");
            let own = self.step(index + 1, pair[1]);
            (from.into_vec(), KeyBytes::before(own.as_bytes()).to_vec())
        };
        lengths.windows(2).enumerate().map(span).collect()
    }

    /// How many bytes each of its steps has. Zero is shorter than all others.
    fn lengths(&self) -> impl Iterator<Item = usize> + use<> {
        let bytes = self.0.as_bytes().len();
        let first = FIRST_STEP.min(bytes);
        [0, first].into_iter().chain(first + 1..=bytes)
    }

    fn step(&self, depth: usize, length: usize) -> KeyBytes {
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
