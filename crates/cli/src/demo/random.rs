//! Deterministic pseudo-random numbers: repeated runs generate the same samples.

/// A splitmix64 generator.
pub(super) struct Random(u64);

impl Random {
    /// The generator of the sample with this number.
    pub(super) fn seeded(number: u64) -> Random {
        Random(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    pub(super) fn pick<T: Copy>(&mut self, among: &[T], default: T) -> T {
        let index = self.below(among.len() as u64) as usize;
        among.get(index).copied().unwrap_or(default)
    }

    /// Picks one with a probability proportional to its weight.
    pub(super) fn weighted<T: Copy>(&mut self, among: &[(T, u64)], default: T) -> T {
        let total = among.iter().map(|(_, weight)| weight).sum();
        let mut at = self.below(total);
        for (value, weight) in among {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *value,
            }
        }
        default
    }
}
