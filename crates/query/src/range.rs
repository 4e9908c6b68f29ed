//! Ranges of ordered lists. Each is one range of sort keys.

use std::ops::Bound;

use keyloom_model::{Direction, EntityId, Layout, List, ListId};
use keyloom_value::{KeyBytes, Value};

use crate::RequestError;
use crate::request_error::check_value;
use crate::span::Span;

/// A part of an ordered list: the first fields of its order have one value each, and the next one
/// lies between bounds.
///
/// Bounds are about values, not positions: the lower one bounds the lesser values, even if the list
/// has the greatest first, and whichever way it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Values of the first fields of the order.
    pub equal: Vec<Value>,
    /// The lower bound of the field after those.
    pub lower: Bound<Value>,
    /// The upper bound of the same field.
    pub upper: Bound<Value>,
}

impl Range {
    /// The whole list.
    pub const ALL: Range =
        Range { equal: vec![], lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// The entities with these values in the first fields of the order.
    pub fn equal(values: Vec<Value>) -> Range {
        Range { equal: values, ..Range::ALL }
    }

    /// The sort keys of the range in a list. No sort key is as short as an end, so whether ends
    /// belong to the span makes no difference.
    pub(crate) fn span(
        &self,
        layout: &Layout,
        entity: EntityId,
        list: ListId,
    ) -> Result<Span, RequestError> {
        let declared = layout.model().entity(entity).list(list);
        self.check(layout, entity, declared)?;
        let prefix = layout.lists().order_prefix((entity, list), &self.equal);
        let next = declared.order.get(self.equal.len()).map(|order| order.direction);
        // The greatest value of a descending field has the least key.
        let (first, last) = match next {
            Some(Direction::Ascending) | None => (&self.lower, &self.upper),
            Some(Direction::Descending) => (&self.upper, &self.lower),
        };
        let key = |value: &Value| {
            let values = [self.equal.as_slice(), std::slice::from_ref(value)].concat();
            layout.lists().order_prefix((entity, list), &values).into_vec()
        };
        let from = match first {
            Bound::Unbounded => prefix.as_bytes().to_vec(),
            Bound::Included(value) => key(value),
            Bound::Excluded(value) => match KeyBytes::after_prefix(&key(value)) {
                Some(after) => after,
                None => return Ok(Span::EMPTY),
            },
        };
        let to = match last {
            Bound::Unbounded => KeyBytes::after_prefix(prefix.as_bytes()),
            Bound::Included(value) => KeyBytes::after_prefix(&key(value)),
            Bound::Excluded(value) => Some(key(value)),
        };
        Ok(Span::ALL.starting_at(Some(from)).ending_at(to))
    }

    fn check(&self, layout: &Layout, entity: EntityId, list: &List) -> Result<(), RequestError> {
        let bounds = [&self.lower, &self.upper];
        let bound_values = bounds.into_iter().filter_map(|bound| match bound {
            Bound::Included(value) | Bound::Excluded(value) => Some(value),
            Bound::Unbounded => None,
        });
        let bound_values: Vec<&Value> = bound_values.collect();
        let restricted = self.equal.len() + usize::from(!bound_values.is_empty());
        if restricted > list.order.len() {
            let (list, fields) = (list.name.clone(), list.order.len());
            return Err(RequestError::RangeTooLong { list, fields, restricted });
        }
        let entity = layout.model().entity(entity);
        for (order, value) in list.order.iter().zip(&self.equal) {
            check_value(entity, order.field, value)?;
        }
        let Some(next) = list.order.get(self.equal.len()) else { return Ok(()) };
        bound_values.into_iter().try_for_each(|value| check_value(entity, next.field, value))
    }
}
