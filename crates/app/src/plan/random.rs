//! Deterministic pseudo-random numbers: the same seed gives the same plan.

use std::sync::{Mutex, PoisonError};

use keyloom::Entropy;

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Returns an index of a slice with so many elements.
    pub(super) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }

    pub(super) fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            let other = self.index(end + 1);
            values.swap(end, other);
        }
    }
}

/// The same numbers as the source of ids.
#[derive(Debug)]
pub(super) struct SeededEntropy(Mutex<Random>);

impl SeededEntropy {
    pub(super) fn new(seed: u64) -> SeededEntropy {
        SeededEntropy(Mutex::new(Random::new(!seed)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in bytes.chunks_mut(8) {
            let next = random.next().to_le_bytes();
            chunk.copy_from_slice(&next[..chunk.len()]);
        }
        Ok(())
    }
}
