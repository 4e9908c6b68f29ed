//! Numbers by chance that are the same every time, so that samples are made once.

/// Chance, from a seed on.
pub(super) struct Chance(u64);

impl Chance {
    /// What happens by chance to the thing of this number.
    pub(super) fn of(number: u64) -> Chance {
        Chance(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D)
    }

    /// A number below another one.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        // The generator splitmix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    pub(super) fn pick<T: Copy>(&mut self, among: &[T], default: T) -> T {
        let place = self.below(among.len() as u64) as usize;
        among.get(place).copied().unwrap_or(default)
    }

    /// One of some, each as often as its weight says.
    pub(super) fn weighed<T: Copy>(&mut self, among: &[(T, u64)], default: T) -> T {
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
