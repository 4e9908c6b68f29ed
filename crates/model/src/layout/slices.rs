//! Bit slices: for each bit of the numbers and times in a field, the entities that have it. A range
//! is found by going through them from the first to the last, whatever the order of a list.
//!
//! The bits are those of the value's key bytes (`keyloom_value::KeyBytes`), without the type and padded
//! with zeros, because these sort as the values do and are exact. Only bits that are set are kept, and
//! digits that no value has cost nothing: values of two digits have at most 16 slices.

use keyloom_value::{KeyBytes, Number, Value};

use crate::model::{Entity, Field, FieldId, FieldType};

/// The bits of a number, the most significant first. They sort as the numbers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SliceBits([u8; SliceBits::BYTES]);

impl SliceBits {
    /// The sign, the exponent, 19 pairs of digits, and the end.
    const BYTES: usize = 22;
    const BITS: u16 = 8 * SliceBits::BYTES as u16;
    /// Bits that most values have, those of positive numbers that are not tiny: entities without them
    /// are kept.
    const USUAL: [u8; 2] = [0x02, 0x80];

    /// The bits of a number.
    pub fn of(number: &Number) -> SliceBits {
        SliceBits::padded(&key_bytes(number))
    }

    /// The least bits of all greater numbers.
    pub fn after(number: &Number) -> SliceBits {
        // The first byte, the sign, is never the greatest.
        SliceBits::padded(&KeyBytes::after_prefix(&key_bytes(number)).unwrap_or_default())
    }

    fn padded(bytes: &[u8]) -> SliceBits {
        debug_assert!(bytes.len() <= SliceBits::BYTES, "{bytes:?}");
        let mut padded = [0; SliceBits::BYTES];
        padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        SliceBits(padded)
    }

    /// Whether a bit is set.
    pub fn get(&self, slice: u16) -> bool {
        let byte = self.0.get(usize::from(slice / 8)).copied().unwrap_or(0);
        byte & (0x80 >> (slice % 8)) != 0
    }

    /// How many bits there are up to the last one that is set.
    pub fn significant(&self) -> u16 {
        (0..SliceBits::BITS).rev().find(|slice| self.get(*slice)).map_or(0, |n| n + 1)
    }

    /// Whether a slice holds the entities that do *not* have the bit.
    pub fn is_inverted(slice: u16) -> bool {
        let usual = SliceBits::USUAL.get(usize::from(slice / 8)).copied().unwrap_or(0);
        usual & (0x80 >> (slice % 8)) != 0
    }

    /// The slices that a value with these bits is in.
    pub(super) fn slices(self) -> impl Iterator<Item = u16> {
        (0..SliceBits::BITS).filter(move |slice| self.get(*slice) != SliceBits::is_inverted(*slice))
    }
}

/// The key bytes of a number after their type.
fn key_bytes(number: &Number) -> Vec<u8> {
    let mut key = KeyBytes::new();
    let pushed = key.push(&Value::N(*number));
    debug_assert!(pushed.is_ok(), "a number can be part of a key");
    key.as_bytes().get(1..).unwrap_or_default().to_vec()
}

impl Entity {
    /// Whether every list can be filtered by ranges of a field.
    pub fn is_range_filter(&self, field: FieldId) -> bool {
        self.filters.contains(&field) && self.field(field).has_slices()
    }
}

impl Field {
    /// Whether the values of the field can be filtered by range where it is declared in `filters`.
    pub fn has_slices(&self) -> bool {
        matches!(self.of, FieldType::Int(_) | FieldType::Number(_) | FieldType::Time)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = Number> {
        let any = (any::<i128>(), -120..80_i16)
            .prop_filter_map("too long", |(digits, exponent)| {
                Number::from_parts(digits / 10, exponent).ok()
            });
        let near = (-1_200..1_200_i128, -3..3_i16).prop_filter_map("none", |(digits, exponent)| {
            Number::from_parts(digits, exponent).ok()
        });
        prop_oneof![1 => any, 3 => near]
    }

    /// The value that its slices imply.
    fn bits_in(slices: &[u16]) -> SliceBits {
        let mut bits = SliceBits([0; SliceBits::BYTES]);
        for slice in 0..SliceBits::BITS {
            if slices.contains(&slice) != SliceBits::is_inverted(slice) {
                bits.0[usize::from(slice / 8)] |= 0x80 >> (slice % 8);
            }
        }
        bits
    }

    proptest! {
        #[test]
        fn bits_sort_as_numbers_do(left in number(), right in number()) {
            prop_assert_eq!(SliceBits::of(&left).cmp(&SliceBits::of(&right)), left.cmp(&right));
            prop_assert_eq!(SliceBits::of(&right) >= SliceBits::after(&left), right > left);
        }

        #[test]
        fn slices_determine_the_value(number in number()) {
            let bits = SliceBits::of(&number);
            prop_assert_eq!(bits_in(&bits.slices().collect::<Vec<_>>()), bits);
            prop_assert!((bits.significant()..176).all(|slice| !bits.get(slice)));
        }
    }

    #[test]
    fn usual_values_are_in_few_slices() {
        let slices = |text: &str| SliceBits::of(&text.parse().unwrap()).slices().count();
        assert_eq!(slices("5"), 5);
        assert_eq!(slices("19.99"), 7);
        assert_eq!(slices("1763333333333"), 19);
    }
}
