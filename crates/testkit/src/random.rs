//! Randomness as a parameter: a small generator whose numbers depend only on the seed, on every
//! machine and in every version. Not for secrets.

/// Splitmix64: fast, tiny, and good enough to choose test cases with any seed, zero included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// Creates a generator that always yields the same numbers for the same seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns the next number; all 64 bits are random.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `n - 1`, uniformly distributed. `n` must not be zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below zero");
        let wide = u128::from(self.next_u64()) * u128::from(n);
        u64::try_from(wide >> 64).expect("the high half of a product of two 64-bit numbers")
    }

    /// Returns true with a probability of `numerator / denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Shuffles the elements.
    pub fn shuffle<T>(&mut self, elements: &mut [T]) {
        for last in (1..elements.len()).rev() {
            elements.swap(last, self.index(last + 1));
        }
    }

    /// Returns a random index below `count`, which must not be zero.
    pub fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).expect("a position below a count fits")
    }

    /// Returns one of the choices, which must not be empty.
    pub fn pick<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.index(choices.len())]
    }

    /// Returns up to `count_max` distinct choices, in random order.
    pub fn some_of<T: Clone>(&mut self, choices: &[T], count_max: usize) -> Vec<T> {
        let mut chosen = choices.to_vec();
        self.shuffle(&mut chosen);
        chosen.truncate(self.index(count_max + 1));
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_match_the_published_splitmix64() {
        let mut random = Random::new(1_234_567);
        let published: [u64; 3] =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next_u64(), random.next_u64(), random.next_u64()], published);
    }

    #[test]
    fn every_number_below_the_bound_occurs_and_none_above() {
        let mut random = Random::new(0);
        let mut seen = [0; 7];
        for _ in 0..7_000 {
            seen[random.index(7)] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
    }

    #[test]
    fn a_chance_occurs_about_as_often_as_stated() {
        let mut random = Random::new(1);
        let hits = (0..10_000).filter(|_| random.chance(1, 4)).count();
        assert!((2_300..2_700).contains(&hits), "{hits}");
        assert!(!random.chance(0, 3) && random.chance(3, 3));
    }

    #[test]
    fn a_shuffle_keeps_every_element_and_changes_the_order() {
        let mut random = Random::new(2);
        let mut elements: Vec<u32> = (0..100).collect();
        random.shuffle(&mut elements);
        assert_ne!(elements, (0..100).collect::<Vec<_>>());
        elements.sort_unstable();
        assert_eq!(elements, (0..100).collect::<Vec<_>>());
    }
}
