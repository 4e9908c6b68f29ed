//! Ranges of numbers and times, by which filters test a field.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use keyloom_model::SliceBits;
use keyloom_value::Number;

/// A range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRange {
    /// The lower bound.
    pub lower: Bound<Number>,
    /// The upper bound.
    pub upper: Bound<Number>,
}

/// The bounds of a range, as bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceBounds {
    /// The least bits that are in it, if it has a lower bound.
    pub(crate) from: Option<SliceBits>,
    /// The least bits that are beyond it, if it has an upper bound.
    pub(crate) to: Option<SliceBits>,
}

impl SliceBounds {
    /// How many slices tell what is within the bounds.
    pub(crate) fn slices(&self) -> u16 {
        let last = |bound: Option<SliceBits>| bound.map_or(0, |bits| bits.significant());
        last(self.from).max(last(self.to))
    }
}

impl ValueRange {
    /// Whether it has a number.
    pub(crate) fn contains(&self, number: &Number) -> bool {
        (self.lower, self.upper).contains(number)
    }

    /// Its bounds as bits.
    pub(crate) fn slice_bounds(&self) -> SliceBounds {
        let from = match &self.lower {
            Bound::Included(number) => Some(SliceBits::of(number)),
            Bound::Excluded(number) => Some(SliceBits::after(number)),
            Bound::Unbounded => None,
        };
        let to = match &self.upper {
            Bound::Included(number) => Some(SliceBits::after(number)),
            Bound::Excluded(number) => Some(SliceBits::of(number)),
            Bound::Unbounded => None,
        };
        SliceBounds { from, to }
    }

    /// What is in both of two ranges.
    pub(crate) fn and(self, other: ValueRange) -> ValueRange {
        ValueRange {
            lower: stricter(self.lower, other.lower, |one, two| one > two),
            upper: stricter(self.upper, other.upper, |one, two| one < two),
        }
    }

    /// Whether no number can be in it.
    pub(crate) fn is_empty(&self) -> bool {
        match (self.lower, self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Excluded(upper))
            | (Bound::Excluded(lower), Bound::Included(upper)) => lower >= upper,
        }
    }
}

/// The bound that leaves less, given which of two numbers does.
fn stricter(
    one: Bound<Number>,
    two: Bound<Number>,
    leaves_less: fn(&Number, &Number) -> bool,
) -> Bound<Number> {
    let number = |bound: &Bound<Number>| match bound {
        Bound::Included(number) | Bound::Excluded(number) => Some(*number),
        Bound::Unbounded => None,
    };
    let Some((left, right)) = number(&one).zip(number(&two)) else {
        return if one == Bound::Unbounded { two } else { one };
    };
    match left == right {
        true => {
            if matches!(one, Bound::Excluded(_)) {
                one
            } else {
                two
            }
        }
        false => {
            if leaves_less(&left, &right) {
                one
            } else {
                two
            }
        }
    }
}

/// In interval notation, such as `[10, 20)`.
impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lower {
            Bound::Included(lower) => write!(f, "[{lower}, ")?,
            Bound::Excluded(lower) => write!(f, "({lower}, ")?,
            Bound::Unbounded => f.write_str("(, ")?,
        }
        match self.upper {
            Bound::Included(upper) => write!(f, "{upper}]"),
            Bound::Excluded(upper) => write!(f, "{upper})"),
            Bound::Unbounded => f.write_str(")"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bound() -> impl Strategy<Value = Bound<Number>> {
        prop_oneof![
            Just(Bound::Unbounded),
            (0..5_i64).prop_map(|number| Bound::Included(Number::from(number))),
            (0..5_i64).prop_map(|number| Bound::Excluded(Number::from(number))),
        ]
    }

    fn range() -> impl Strategy<Value = ValueRange> {
        (bound(), bound()).prop_map(|(lower, upper)| ValueRange { lower, upper })
    }

    proptest! {
        #[test]
        fn what_is_in_both_ranges_is_in_their_intersection(
            one in range(), two in range(), halves in -1..11_i64,
        ) {
            let number = Number::from_parts(i128::from(halves) * 5, -1).unwrap();
            let both = one.contains(&number) && two.contains(&number);
            prop_assert_eq!(one.and(two).contains(&number), both);
            prop_assert!(!(both && one.and(two).is_empty()));
        }
    }
}
