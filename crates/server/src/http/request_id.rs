//! Request ids: 52 letters and digits, different for every request of every process.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
const LENGTH: usize = 52;

/// Generates request ids.
#[derive(Debug)]
pub(crate) struct RequestIds {
    seed: u64,
    count: AtomicU64,
}

impl RequestIds {
    /// Seeded as the standard library seeds its hash maps.
    pub(crate) fn new() -> RequestIds {
        RequestIds { seed: RandomState::new().build_hasher().finish(), count: AtomicU64::new(0) }
    }

    pub(crate) fn next(&self) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut state = self.seed ^ count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut id = String::with_capacity(LENGTH + 12);
        while id.len() < LENGTH {
            let bits = mixed(&mut state);
            id.extend(
                (0..12).map(|digit| char::from(ALPHABET[(bits >> (5 * digit)) as usize & 31])),
            );
        }
        id.truncate(LENGTH);
        id
    }
}

/// The next number of the generator SplitMix64.
fn mixed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
