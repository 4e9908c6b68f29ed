//! The keys that consume the most, in bounded memory.

use std::collections::HashMap;

/// How many keys are tracked.
const KEYS_MAX: usize = 512;

/// Units by key. Exact while there are at most [`KEYS_MAX`] keys. After that a new key takes the
/// entry of the lightest one with its units (the space-saving algorithm), so that a heavy key is
/// never missed and no key's units are reported too low.
#[derive(Clone, Debug, Default)]
pub(super) struct HeavyKeys {
    units: HashMap<Vec<u8>, f64>,
}

impl HeavyKeys {
    pub(super) fn add(&mut self, key: &[u8], units: f64) {
        if let Some(known) = self.units.get_mut(key) {
            *known += units;
            return;
        }
        let inherited = match self.units.len() < KEYS_MAX {
            true => 0.0,
            false => self.remove_lightest(),
        };
        self.units.insert(key.to_vec(), inherited + units);
    }

    /// Removes the entry with the fewest units and returns them.
    fn remove_lightest(&mut self) -> f64 {
        // By key among equals: the order of a hash map differs from run to run.
        let lightest = self
            .units
            .iter()
            .min_by(|(key_a, a), (key_b, b)| a.total_cmp(b).then(key_a.cmp(key_b)));
        let key = lightest.map(|(key, _)| key.clone());
        key.and_then(|key| self.units.remove(&key)).unwrap_or_default()
    }

    /// Returns the heaviest keys, heaviest first.
    pub(super) fn heaviest(&self, count: usize) -> Vec<(&[u8], f64)> {
        let mut all: Vec<(&[u8], f64)> =
            self.units.iter().map(|(key, units)| (key.as_slice(), *units)).collect();
        all.sort_by(|(key_a, a), (key_b, b)| b.total_cmp(a).then(key_a.cmp(key_b)));
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heavy_key_is_found_among_many_light_ones() {
        let mut keys = HeavyKeys::default();
        for n in 0..20_000_u32 {
            keys.add(&n.to_be_bytes(), 1.0);
            if n % 10 == 0 {
                keys.add(b"heavy", 3.0);
            }
        }
        let found = keys.heaviest(2);
        assert_eq!(found[0].0, b"heavy");
        assert!(found[0].1 >= 6000.0 && found[1].1 < 6000.0);
        assert!(keys.units.len() <= KEYS_MAX);
    }
}
