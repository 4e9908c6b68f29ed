//! Deterministic pseudo-random numbers: the same seed gives the same samples and plans.

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D)
    }

    /// Returns any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    /// Returns an index of a slice with so many elements.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }

    /// Puts values into a random order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            let other = self.index(end + 1);
            values.swap(end, other);
        }
    }

    /// Picks one.
    pub fn pick<T: Copy>(&mut self, among: &[T], default: T) -> T {
        let index = self.index(among.len());
        among.get(index).copied().unwrap_or(default)
    }

    /// Picks one with a probability proportional to its weight.
    pub fn weighted<T: Copy>(&mut self, among: &[(T, u64)], default: T) -> T {
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
