//! The least and the greatest value of a field among the entities that a number counts: the values of
//! the first and the last counter that is not 0, among those that are kept in order.

use std::collections::BTreeSet;

use keyloom_model::{Breakdown, Count, FieldId};
use keyloom_store::Direction;
use keyloom_value::{Item, Value};

use crate::count::{CountQuery, CountRows, PAGE_ROWS, taken_amount, takers_of};
use crate::count_filter::CountFilter;
use crate::count_sum::Sum;
use crate::partition::MergedRequest;
use crate::span::Span;
use crate::visible::{ReadState, Verdict};
use crate::{Error, Reader};

/// How many rows the first request reads: more are only needed while deletions take from many of them.
const SEEK_ROWS: usize = 4;

/// Values of a field, in order.
struct Ordered<'q> {
    reader: &'q Reader<'q>,
    rows: &'q CountRows<'q>,
    filter: CountFilter<'q>,
    direction: Direction,
}

/// What a search has found.
enum Found {
    Value(Option<Value>),
    ReadAgain,
}

impl CountQuery<'_> {
    /// Adds the least and greatest values to numbers, as the count declares them.
    pub(crate) async fn add_extremes(
        &self,
        rows: &CountRows<'_>,
        sums: &mut [Sum],
        state: &mut ReadState,
    ) -> Result<Verdict, Error> {
        let Count { min, max, .. } = self.declared();
        for (fields, direction) in [(min, Direction::Forward), (max, Direction::Backward)] {
            for field in fields {
                let ordered = self.ordered(rows, *field, direction);
                for sum in sums.iter_mut() {
                    let value = match ordered.first(&sum.values, state).await? {
                        Found::ReadAgain => return Ok(Verdict::ReadAgain),
                        Found::Value(value) => value,
                    };
                    let found = match direction {
                        Direction::Forward => &mut sum.min,
                        Direction::Backward => &mut sum.max,
                    };
                    found.extend(value.map(|value| (*field, value)));
                }
            }
        }
        Ok(Verdict::Valid)
    }

    fn ordered<'o>(
        &'o self,
        rows: &'o CountRows<'o>,
        field: FieldId,
        direction: Direction,
    ) -> Ordered<'o> {
        let CountFilter { layout, entity, kept_by, .. } = &self.filter;
        let kept_by = Breakdown { in_order: Some(field), ..kept_by.clone() };
        let filter = CountFilter { layout, entity: *entity, kept_by, wanted: vec![] };
        Ordered { reader: self.reader, rows, filter, direction }
    }
}

impl Ordered<'_> {
    /// The first value that an entity has among those that are counted under these values.
    async fn first(&self, counted: &[Value], state: &mut ReadState) -> Result<Found, Error> {
        let mut span = Span::within(&self.filter.position(counted));
        let mut limit = SEEK_ROWS;
        // The value whose rows may not all have been read, and how many entities have it.
        let mut open: Option<(Value, i64)> = None;
        loop {
            let CountRows { partitions, .. } = self.rows;
            let request =
                MergedRequest { partitions, span: &span, direction: self.direction, limit };
            let page = request.read(self.reader.rows(), &mut state.cost).await?;
            let takers: BTreeSet<String> =
                page.items.iter().filter_map(takers_of).flatten().collect();
            if state.learn(self.reader.rows(), takers).await? == Verdict::ReadAgain {
                return Ok(Found::ReadAgain);
            }
            for row in &page.items {
                let (value, count) = self.counted(row, state)?;
                match open.as_mut().filter(|(open, _)| *open == value) {
                    Some((_, all)) => *all += count,
                    None => {
                        if let Some((value, 1..)) = open.replace((value, count)) {
                            return Ok(Found::Value(Some(value)));
                        }
                    }
                }
            }
            let Some(last) = page.last else {
                let found = open.filter(|(_, count)| *count > 0);
                return Ok(Found::Value(found.map(|(value, _)| value)));
            };
            limit = (4 * limit).min(PAGE_ROWS);
            span = match self.direction {
                Direction::Forward => span.past(&last),
                Direction::Backward => span.after(&last, Direction::Backward),
            };
        }
    }

    fn counted(&self, row: &Item, state: &ReadState) -> Result<(Value, i64), Error> {
        let sum = self.filter.sum_of(row)?;
        let value = sum.values.into_iter().last().unwrap_or(Value::Null);
        Ok((value, taken_amount(row, sum.amount, state).count))
    }
}
