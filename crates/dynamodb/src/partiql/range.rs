//! The range of a sort key that several tests leave.

use std::cmp::Ordering;

use keyloom_value::{KeyTest, Value};

/// A range of values of one type; everything without bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SortRange {
    low: Option<Low>,
    high: Option<High>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Low {
    value: Value,
    is_inclusive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum High {
    Value {
        value: Value,
        is_inclusive: bool,
    },
    /// The last value with the prefix.
    Prefix(Value),
}

impl SortRange {
    /// Returns the range that all tests leave.
    pub(super) fn of<'a>(tests: impl IntoIterator<Item = &'a KeyTest>) -> SortRange {
        let mut range = SortRange::default();
        for test in tests {
            range.narrow(test);
        }
        range
    }

    fn narrow(&mut self, test: &KeyTest) {
        let above = |value: &Value, is_inclusive| Low { value: value.clone(), is_inclusive };
        let below =
            |value: &Value, is_inclusive| High::Value { value: value.clone(), is_inclusive };
        match test {
            KeyTest::Equal(value) => {
                self.raise(above(value, true));
                self.lower(below(value, true));
            }
            KeyTest::Less(value) => self.lower(below(value, false)),
            KeyTest::LessOrEqual(value) => self.lower(below(value, true)),
            KeyTest::Greater(value) => self.raise(above(value, false)),
            KeyTest::GreaterOrEqual(value) => self.raise(above(value, true)),
            KeyTest::Between(low, high) => {
                self.raise(above(low, true));
                self.lower(below(high, true));
            }
            KeyTest::BeginsWith(prefix) => {
                self.raise(above(prefix, true));
                self.lower(High::Prefix(prefix.clone()));
            }
        }
    }

    fn raise(&mut self, low: Low) {
        let is_higher =
            self.low.as_ref().is_none_or(|known| match low.value.compare(&known.value) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => !low.is_inclusive,
                Some(Ordering::Less) | None => false,
            });
        if is_higher {
            self.low = Some(low);
        }
    }

    fn lower(&mut self, high: High) {
        if self.high.as_ref().is_none_or(|known| ends_before(&high, known)) {
            self.high = Some(high);
        }
    }

    /// Whether no value is in it. Gaps between neighbouring values are not found.
    pub(super) fn is_empty(&self) -> bool {
        !self.overlaps(self)
    }

    /// Whether a value can be in both.
    pub(super) fn overlaps(&self, other: &SortRange) -> bool {
        reaches(self.low.as_ref(), other.high.as_ref())
            && reaches(other.low.as_ref(), self.high.as_ref())
    }

    /// Orders ranges that do not overlap.
    pub(super) fn order(&self, other: &SortRange) -> Ordering {
        match (&self.low, &other.low) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => {
                let order = left.value.compare(&right.value).unwrap_or(Ordering::Equal);
                order.then(right.is_inclusive.cmp(&left.is_inclusive))
            }
        }
    }

    /// Returns one test that every value in the range passes; others may pass it too.
    pub(super) fn test(&self) -> Option<KeyTest> {
        let high_test = |high: &High| match high {
            High::Value { value, is_inclusive: true } => KeyTest::LessOrEqual(value.clone()),
            High::Value { value, is_inclusive: false } => KeyTest::Less(value.clone()),
            High::Prefix(prefix) => KeyTest::BeginsWith(prefix.clone()),
        };
        match (&self.low, &self.high) {
            (None, None) => None,
            (Some(low), None) if low.is_inclusive => {
                Some(KeyTest::GreaterOrEqual(low.value.clone()))
            }
            (Some(low), None) => Some(KeyTest::Greater(low.value.clone())),
            (None, Some(high)) => Some(high_test(high)),
            (Some(low), Some(High::Value { value, .. })) if low.value == *value => {
                Some(KeyTest::Equal(value.clone()))
            }
            (Some(low), Some(High::Value { value, .. })) => {
                Some(KeyTest::Between(low.value.clone(), value.clone()))
            }
            (Some(_), Some(high @ High::Prefix(_))) => Some(high_test(high)),
        }
    }
}

/// Whether a range that begins at `low` begins before `high`.
fn reaches(low: Option<&Low>, high: Option<&High>) -> bool {
    let (Some(low), Some(high)) = (low, high) else { return true };
    match high {
        High::Value { value, is_inclusive } => match low.value.compare(value) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => low.is_inclusive && *is_inclusive,
            Some(Ordering::Greater) | None => false,
        },
        High::Prefix(prefix) => !is_after(&low.value, prefix),
    }
}

fn ends_before(left: &High, right: &High) -> bool {
    match (left, right) {
        (High::Value { value, .. }, High::Prefix(prefix)) => !is_after(value, prefix),
        (High::Prefix(prefix), High::Value { value, .. }) => is_after(value, prefix),
        (High::Prefix(left), High::Prefix(right)) => {
            KeyTest::BeginsWith(right.clone()).matches(left)
                || left.compare(right) == Some(Ordering::Less)
        }
        (
            High::Value { value: left, is_inclusive },
            High::Value { value: right, is_inclusive: _ },
        ) => match left.compare(right) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => !is_inclusive,
            Some(Ordering::Greater) | None => false,
        },
    }
}

/// Whether the value is after all values with the prefix.
fn is_after(value: &Value, prefix: &Value) -> bool {
    value.compare(prefix) == Some(Ordering::Greater)
        && !KeyTest::BeginsWith(prefix.clone()).matches(value)
}
