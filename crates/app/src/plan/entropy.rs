//! Ids of a plan: the same seed gives the same ones.

use std::sync::{Mutex, PoisonError};

use keyloom::Entropy;

use crate::random::Random;

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
            let next = random.number().to_le_bytes();
            chunk.copy_from_slice(&next[..chunk.len()]);
        }
        Ok(())
    }
}
