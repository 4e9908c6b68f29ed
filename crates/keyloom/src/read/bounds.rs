//! The bounds that a query gives to fields: ranges of the order of its list, and filters by the other
//! fields.

use std::ops::Bound;

use keyloom_model::{Entity, ListId};
use keyloom_query::Range;
use keyloom_value::Value;

use super::by::bounded_twice;
use crate::error::Error;
use crate::filter::Filter;

/// A bound of a field.
#[derive(Clone, Debug)]
pub(super) struct FieldBound {
    pub(super) field: String,
    pub(super) side: Side,
    pub(super) value: Value,
}

/// How a value bounds a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Equal,
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
}

/// What a list is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFor {
    /// A page: a range of the order is read from its first to its last entity.
    Page,
    /// A number of entities: filters count without reading them.
    Counting,
}

/// Bounds by their use.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) range: Range,
    pub(super) filters: Vec<Filter>,
}

impl FieldBound {
    /// Whether lists can be filtered by the field.
    pub(super) fn is_filter(&self, entity: &Entity) -> bool {
        entity.find_field(&self.field).is_some_and(|field| entity.is_range_filter(field))
    }

    fn to_filter(&self) -> Filter {
        let value = || self.value.clone();
        let (lower, upper) = match self.side {
            Side::Equal => (Bound::Included(value()), Bound::Included(value())),
            Side::AtLeast => (Bound::Included(value()), Bound::Unbounded),
            Side::MoreThan => (Bound::Excluded(value()), Bound::Unbounded),
            Side::AtMost => (Bound::Unbounded, Bound::Included(value())),
            Side::LessThan => (Bound::Unbounded, Bound::Excluded(value())),
        };
        Filter::range::<Value>(&self.field, (lower, upper))
    }
}

impl Bounds {
    pub(super) fn of(
        bounds: &[FieldBound],
        (entity, list): (&Entity, ListId),
        read_for: ReadFor,
    ) -> Result<Bounds, Error> {
        let in_order = |bound: &&FieldBound| match read_for {
            ReadFor::Page => true,
            ReadFor::Counting => !bound.is_filter(entity),
        };
        let (ordered, mut others): (Vec<&FieldBound>, Vec<&FieldBound>) =
            bounds.iter().partition(in_order);
        let (range, rest) = in_order_of(&ordered, (entity, list))?;
        others.extend(rest);
        match others.iter().all(|bound| bound.is_filter(entity)) {
            true => Ok(Bounds {
                range,
                filters: others.into_iter().map(FieldBound::to_filter).collect(),
            }),
            false => Err(no_such_range(entity, list)),
        }
    }
}

/// The range of the order that bounds describe: values of its leading fields, then bounds of one field.
/// Also returns the bounds of fields that are not among those.
fn in_order_of<'b>(
    bounds: &[&'b FieldBound],
    (entity, list): (&Entity, ListId),
) -> Result<(Range, Vec<&'b FieldBound>), Error> {
    let mut range = Range::ALL;
    let mut rest = bounds.to_vec();
    for order in &entity.list(list).order {
        let field = entity.field(order.field);
        let (of_field, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|bound| bound.field == field.name);
        rest = others;
        let stored = |bound: &FieldBound| field.of.to_stored(&bound.value);
        if let [only] = &of_field[..]
            && only.side == Side::Equal
        {
            range.equal.push(stored(only));
            continue;
        }
        for bound in of_field {
            let (end, value) = match bound.side {
                Side::Equal => return Err(bounded_twice(&field.name)),
                Side::AtLeast => (&mut range.lower, Bound::Included(stored(bound))),
                Side::MoreThan => (&mut range.lower, Bound::Excluded(stored(bound))),
                Side::AtMost => (&mut range.upper, Bound::Included(stored(bound))),
                Side::LessThan => (&mut range.upper, Bound::Excluded(stored(bound))),
            };
            if *end != Bound::Unbounded {
                return Err(bounded_twice(&field.name));
            }
            *end = value;
        }
        break;
    }
    Ok((range, rest))
}

fn no_such_range(entity: &Entity, list: ListId) -> Error {
    let list = entity.list(list);
    let order = list.order.iter();
    let names: Vec<&str> = order.map(|order| entity.field(order.field).name.as_str()).collect();
    let help = match names.is_empty() {
        true if entity.has_ordinals() => "it is ordered by creation only".to_owned(),
        true => "it is ordered by id only".to_owned(),
        false => format!(
            "it is ordered by `{}`; give each leading field one value, and bounds to the next",
            names.join("`, `")
        ),
    };
    let help = format!("{help}; or declare the field in `filters`");
    Error::Unknown { what: format!("Invalid range of the list `{}`", list.name), help: Some(help) }
}
