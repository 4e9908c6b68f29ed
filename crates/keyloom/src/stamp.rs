//! Stamps: unique texts that sort in the order of their creation. Ids and versions are stamps.
//!
//! ```text
//! 48 bits   milliseconds since 1970
//! 80 bits   random; within one millisecond, the previous stamp plus one
//! ```
//!
//! as 26 characters of `0-9a-z` without `i l o u`, whose byte order is the order of the numbers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use keyloom_store::Clock;

use crate::error::Error;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const RANDOM_BITS: u32 = 80;
const LEN: u32 = 26;

/// A source of unpredictable bytes.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Entropy, Options};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use keyloom_testkit::ManualClock;
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// /// Makes the ids of a test the same each time, together with a clock that stands still.
/// #[derive(Debug)]
/// struct Zeros;
///
/// impl Entropy for Zeros {
///     fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
///         bytes.fill(0);
///         Ok(())
///     }
/// }
///
/// let clock = Arc::new(ManualClock::new());
/// let options = Options { clock, entropy: Arc::new(Zeros), ..Options::default() };
/// let db = Db::open_with("[entity.task]", store, options).await?;
/// let task = db.create("task", &json!({})).await?;
/// // Before the zeros, an id has the time.
/// assert!(task.id().ends_with("0000000000000000"));
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
pub trait Entropy: fmt::Debug + Send + Sync + 'static {
    /// Fills a buffer.
    ///
    /// # Errors
    ///
    /// If the source fails.
    fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()>;
}

/// The operating system's source of randomness.
///
/// The default of [`Options`](crate::Options). [`Entropy`] has an example of another source.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        getrandom::fill(bytes).map_err(std::io::Error::from)
    }
}

/// Creates stamps.
#[derive(Debug)]
pub(crate) struct Stamps {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    last: Mutex<u128>,
}

impl Stamps {
    pub(crate) fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Stamps {
        Stamps { clock, entropy, last: Mutex::new(0) }
    }

    /// Returns a new stamp, greater than all before, even if the clock is set back.
    pub(crate) fn next(&self) -> Result<String, Error> {
        let now = u128::from(self.clock.now().0) << RANDOM_BITS;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last >> RANDOM_BITS >= now >> RANDOM_BITS {
            *last += 1;
        } else {
            let mut random = [0; 16];
            // The top byte of the random part stays free, so that a busy millisecond does not run into the next.
            self.entropy.fill(&mut random[7..]).map_err(no_entropy)?;
            *last = now | u128::from_be_bytes(random);
        }
        Ok(text(*last))
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Returns an unpredictable number below a bound; 0 if the bound is 0.
    pub(crate) fn below(&self, bound: u64) -> Result<u64, Error> {
        let mut random = [0; 8];
        self.entropy.fill(&mut random).map_err(no_entropy)?;
        Ok(u64::from_be_bytes(random).checked_rem(bound).unwrap_or(0))
    }
}

fn no_entropy(error: std::io::Error) -> Error {
    Error::Entropy { reason: error.to_string() }
}

/// Encodes a number as a stamp.
pub(crate) fn text(number: u128) -> String {
    let digit = |place: u32| {
        let shifted = number.checked_shr(5 * (LEN - 1 - place)).unwrap_or(0);
        char::from(ALPHABET[(shifted & 31) as usize])
    };
    (0..LEN).map(digit).collect()
}

/// The time of a stamp, in milliseconds since 1970; none if the text is not a stamp.
pub(crate) fn time_ms(stamp: &str) -> Option<i64> {
    let digit = |byte: u8| ALPHABET.iter().position(|known| *known == byte);
    let digits = stamp.bytes().map(digit).collect::<Option<Vec<usize>>>()?;
    let number = digits
        .iter()
        .try_fold(0_u128, |number, digit| number.checked_mul(32)?.checked_add(*digit as u128))?;
    i64::try_from(number >> RANDOM_BITS).ok()
}

#[cfg(test)]
mod tests {
    use keyloom_testkit::ManualClock;

    use super::*;

    #[derive(Debug)]
    struct Highest;

    impl Entropy for Highest {
        fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
            bytes.fill(0xFF);
            Ok(())
        }
    }

    #[test]
    fn stamps_grow_even_if_the_clock_stands_still_or_is_set_back() {
        let clock = Arc::new(ManualClock::default());
        clock.advance_ms(1000);
        let stamps = Stamps::new(clock.clone(), Arc::new(Highest));
        let mut all: Vec<String> = (0..1000).map(|_| stamps.next().expect("a stamp")).collect();
        clock.advance_ms(1);
        all.extend((0..1000).map(|_| stamps.next().expect("a stamp")));
        assert!(all.is_sorted_by(|left, right| left < right));
        assert!(all.iter().all(|stamp| stamp.len() == 26));
    }

    #[test]
    fn a_stamp_contains_its_time() {
        let clock = Arc::new(ManualClock::default());
        clock.advance_ms(12_345);
        let now = i64::try_from(clock.now().0).ok();
        let stamps = Stamps::new(clock, Arc::new(Highest));
        assert_eq!(time_ms(&stamps.next().expect("a stamp")), now);
        assert_eq!(time_ms("no stamp!"), None);
    }

    #[test]
    fn the_order_of_texts_is_the_order_of_numbers() {
        let numbers = [0, 1, 31, 32, 1 << 64, (1 << 80) - 1, 1 << 80, u128::MAX];
        let texts = numbers.map(text);
        assert!(texts.is_sorted_by(|left, right| left < right));
        assert_eq!(texts[3], "00000000000000000000000010");
    }
}
