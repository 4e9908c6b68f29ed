//! Amounts: what a counter holds, and what entities add to it.

use std::collections::BTreeMap;

use keyloom_value::{Item, Name, Number, Value};

use super::attribute::COUNT;
use crate::model::{Field, Presence};

/// First letter of the attributes of a counter that hold sums, before the name of the field.
const SUM: char = '+';
/// First letter of those that hold how many of the entities have a value of an optional field.
const PRESENT: char = '#';

/// A number of entities, with sums of their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount {
    /// How many entities.
    pub count: i64,
    /// By attribute of the counter's row; 0 is left out.
    sums: BTreeMap<Name, Sum>,
}

/// An exact sum of numbers. One number, unless no number has so many digits: what is added later may
/// cancel some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sum(Vec<Number>);

/// A sum has more than 38 digits, or is out of the range of numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sum of `{field}` would have more than 38 digits, or be out of range")]
pub struct SumTooLong {
    /// The field that is added up.
    pub field: String,
}

impl Amount {
    /// The amount of one entity, without sums.
    pub(super) fn one() -> Amount {
        Amount::from(1)
    }

    /// Adds the value that the entity has in a field.
    pub(super) fn with_value(mut self, field: &Field, value: &Number) -> Amount {
        self.sums.entry(sum_attribute(&field.stored)).or_default().add(value);
        if field.presence == Presence::Optional {
            self.sums.entry(present_attribute(&field.stored)).or_default().add(&Number::from(1));
        }
        self.forget_zeros();
        self
    }

    /// The amount in the row of a counter; `None` if it holds something else.
    pub fn of_row(row: &Item) -> Option<Amount> {
        let mut amount = Amount::from(row.get(COUNT)?.as_n()?.to_i64()?);
        for (name, value) in row.iter().filter(|(name, _)| is_sum(name)) {
            amount.sums.entry(name.clone()).or_default().add(value.as_n()?);
        }
        amount.forget_zeros();
        Some(amount)
    }

    /// Whether an attribute is a sum of 0, which says the same as none.
    pub(super) fn is_zero_sum(name: &Name, value: &Value) -> bool {
        is_sum(name) && value.as_n() == Some(&Number::ZERO)
    }

    /// Adds another amount to it.
    pub fn add(&mut self, other: &Amount) {
        self.count += other.count;
        for (name, sum) in &other.sums {
            let all = self.sums.entry(name.clone()).or_default();
            sum.0.iter().for_each(|part| all.add(part));
        }
        self.forget_zeros();
    }

    /// The amount to add that takes this one away.
    #[must_use]
    pub fn negated(&self) -> Amount {
        // The range of numbers is symmetric.
        let negated = |part: &Number| Number::ZERO.checked_sub(part).unwrap_or(Number::ZERO);
        let sums = self
            .sums
            .iter()
            .map(|(name, sum)| (name.clone(), Sum(sum.0.iter().map(negated).collect())));
        Amount { count: -self.count, sums: sums.collect() }
    }

    /// Whether adding it changes nothing.
    pub fn is_zero(&self) -> bool {
        self.count == 0 && self.sums.is_empty()
    }

    /// The attributes of a counter's row that hold sums.
    ///
    /// # Errors
    ///
    /// If no number is one of the sums.
    pub fn sums(&self) -> Result<Vec<(Name, Number)>, SumTooLong> {
        let number = |(name, sum): (&Name, &Sum)| {
            let field = || Amount::summed_field(name).unwrap_or_default().to_owned();
            let too_long = || SumTooLong { field: field() };
            Ok((name.clone(), sum.number().ok_or_else(too_long)?))
        };
        self.sums.iter().map(number).collect()
    }

    /// The field that an attribute of a counter's row adds up, if it does.
    pub fn summed_field(attribute: &Name) -> Option<&str> {
        attribute.as_str().strip_prefix([SUM, PRESENT])
    }

    /// The names of those attributes.
    pub fn attributes(&self) -> impl Iterator<Item = &Name> {
        self.sums.keys()
    }

    /// The sum of a field; `None` if it is not a number.
    pub fn sum(&self, field: &Field) -> Option<Number> {
        self.sum_at(&sum_attribute(&field.stored))
    }

    /// How many of the entities have a value of a field.
    pub fn present(&self, field: &Field) -> u64 {
        let count = match field.presence {
            Presence::Required => Some(self.count),
            Presence::Optional => {
                let count = self.sum_at(&present_attribute(&field.stored));
                count.and_then(|count| count.to_i64())
            }
        };
        count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
    }

    fn sum_at(&self, attribute: &Name) -> Option<Number> {
        self.sums.get(attribute).map_or(Some(Number::ZERO), Sum::number)
    }

    fn forget_zeros(&mut self) {
        self.sums.retain(|_, sum| !sum.0.is_empty());
    }
}

impl Sum {
    fn add(&mut self, number: &Number) {
        let mut added = *number;
        // Each part that it can be added to becomes one with it.
        self.0.retain(|part| match part.checked_add(&added) {
            Ok(sum) => {
                added = sum;
                false
            }
            Err(_) => true,
        });
        if added != Number::ZERO {
            self.0.push(added);
        }
    }

    fn number(&self) -> Option<Number> {
        match self.0[..] {
            [] => Some(Number::ZERO),
            [number] => Some(number),
            _ => None,
        }
    }
}

impl From<i64> for Amount {
    fn from(count: i64) -> Amount {
        Amount { count, sums: BTreeMap::new() }
    }
}

fn is_sum(attribute: &Name) -> bool {
    Amount::summed_field(attribute).is_some()
}

fn sum_attribute(field: &str) -> Name {
    Name::from(format!("{SUM}{field}"))
}

fn present_attribute(field: &str) -> Name {
    Name::from(format!("{PRESENT}{field}"))
}
