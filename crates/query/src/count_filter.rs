//! Which counters of a count a request wants, and where the next ones can be.

use keyloom_model::attribute::{COUNT, SORT};
use keyloom_model::{Amount, Breakdown, EntityId, Layout, Unreadable};
use keyloom_value::{Item, KeyBytes, Value};

use crate::Error;
use crate::count_sum::{Sum, sort_of};
use crate::error::unreadable;
use crate::span::Span;

/// The counters that a request wants, among those that are kept by the same fields.
pub(crate) struct CountFilter<'q> {
    pub(crate) layout: &'q Layout,
    pub(crate) entity: EntityId,
    pub(crate) kept_by: Breakdown,
    /// One for each field, then one for the window.
    pub(crate) wanted: Vec<Wanted>,
}

/// What a value of a counter must be.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Any,
    This(Value),
    /// The beginning of a window: not before the first time, and before the second.
    Between(Option<i64>, Option<i64>),
}

impl Wanted {
    /// The value, if only one is wanted.
    pub(crate) fn value(&self) -> Option<&Value> {
        match self {
            Wanted::This(value) => Some(value),
            Wanted::Any | Wanted::Between(..) => None,
        }
    }
}

/// The beginning of a window, from the value that counters have of it.
pub(crate) fn start_ms(value: &Value) -> Option<i64> {
    value.as_n()?.to_i64()
}

/// Whether a counter is wanted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Wanted,
    /// No counter is before this position that is wanted; none if none follows.
    SkipTo(Option<Vec<u8>>),
}

impl CountFilter<'_> {
    /// Where the sort keys of a counter begin.
    pub(crate) fn position(&self, values: &[Value]) -> Vec<u8> {
        self.layout.counts().prefix(self.entity, &self.kept_by, values).into_vec()
    }

    /// The values of the counter at a position, or of the row with a sort key.
    pub(crate) fn values_at(&self, sort: &[u8]) -> Option<Vec<Value>> {
        self.layout.counts().values(self.entity, &self.kept_by, sort)
    }

    /// What the row of a counter holds.
    pub(crate) fn sum_of(&self, row: &Item) -> Result<Sum, Error> {
        let wrong = |attribute| unreadable(row, Unreadable { attribute });
        let amount = Amount::of_row(row).ok_or_else(|| wrong(COUNT))?;
        let values = sort_of(row).and_then(|sort| self.values_at(sort));
        let values = values.ok_or_else(|| wrong(SORT))?;
        Ok(Sum { values, amount, ..Sum::default() })
    }

    /// The values that are the same in all wanted counters, as far as no other one precedes them.
    fn common(&self) -> Vec<Value> {
        self.wanted.iter().map_while(Wanted::value).cloned().collect()
    }

    /// A range in which all wanted counters are.
    pub(crate) fn span(&self) -> Span {
        let common = self.common();
        let span = Span::within(&self.position(&common));
        let Some(Wanted::Between(from, to)) = self.wanted.get(common.len()) else { return span };
        let position =
            |time: i64| self.position(&[common.as_slice(), &[Value::from(time)]].concat());
        let span = match from {
            Some(from) => span.not_before(&position(*from)),
            None => span,
        };
        match to {
            Some(to) => span.ending_at(Some(position(*to))),
            None => span,
        }
    }

    /// Whether there can be other counters between wanted ones.
    pub(crate) fn has_gaps(&self) -> bool {
        let rest = &self.wanted[self.common().len()..];
        rest.iter().skip(1).any(|wanted| !matches!(wanted, Wanted::Any))
    }

    /// Whether a counter with these values is wanted.
    pub(crate) fn fit(&self, values: &[Value]) -> Fit {
        for (at, (wanted, value)) in self.wanted.iter().zip(values).enumerate() {
            let before = &values[..at];
            let least = match wanted {
                Wanted::Any => continue,
                Wanted::This(wanted) if wanted == value => continue,
                Wanted::This(wanted) => Some(wanted.clone()),
                Wanted::Between(from, to) => {
                    let start = start_ms(value);
                    if from.is_none_or(|from| start >= Some(from))
                        && to.is_none_or(|to| start < Some(to))
                    {
                        continue;
                    }
                    from.map(Value::from)
                }
            };
            let least = least.map(|least| self.position(&[before, &[least]].concat()));
            let here = self.position(&values[..=at]);
            return Fit::SkipTo(match least.filter(|least| *least > here) {
                Some(least) => Some(least),
                None => KeyBytes::after_prefix(&self.position(before)),
            });
        }
        Fit::Wanted
    }
}
