//! Lists as a filter and a sort of all images: slow, and obviously right.

use std::cmp::Ordering;
use std::ops::Bound;

use keyloom_model::{Direction, Entity, FieldId, FieldType, Image, Layout, List, Literal};
use keyloom_query::ListRequest;
use keyloom_value::Value;

/// The ids of what a request is about, in the order in which it is read.
pub(crate) fn list<'i>(
    layout: &Layout,
    images: impl IntoIterator<Item = &'i Image>,
    request: &ListRequest,
) -> Vec<&'i str> {
    let entity = layout.model().entity(request.entity);
    let list = entity.list(request.list);
    let is_in = |image: &&Image| is_in_list(entity, list, image, request);
    let mut found: Vec<&Image> = images.into_iter().filter(is_in).collect();
    found.sort_by(|left, right| place_order(entity, list, left, right));
    match request.direction {
        keyloom_store::Direction::Forward => {}
        keyloom_store::Direction::Backward => found.reverse(),
    }
    found.into_iter().map(|image| image.key.id.as_str()).collect()
}

/// Which of two entities comes first in a list that both are in.
pub(crate) fn place_order(entity: &Entity, list: &List, left: &Image, right: &Image) -> Ordering {
    let orders = list.order.iter().map(|order| {
        let [left, right] = [left, right].map(|image| value(entity, image, order.field).unwrap());
        let up = compare(entity, order.field, left, right);
        match order.direction {
            Direction::Ascending => up,
            Direction::Descending => up.reverse(),
        }
    });
    let first = orders.into_iter().find(|order| order.is_ne());
    first.unwrap_or_else(|| left.key.id.cmp(&right.key.id))
}

fn is_in_list(entity: &Entity, list: &List, image: &Image, request: &ListRequest) -> bool {
    let has = |field: FieldId, expected: &Value| value(entity, image, field) == Some(expected);
    image.key.entity == request.entity
        && image.key.tenant == request.tenant
        && list.by.iter().zip(&request.by).all(|(field, expected)| has(*field, expected))
        && list.filter.iter().all(|test| passes(value(entity, image, test.field), &test.value))
        && list.order.iter().all(|order| value(entity, image, order.field).is_some())
        && is_in_range(entity, list, image, request)
}

fn is_in_range(entity: &Entity, list: &List, image: &Image, request: &ListRequest) -> bool {
    let range = &request.range;
    let order = |at: usize, other: &Value| {
        let field = list.order[at].field;
        compare(entity, field, value(entity, image, field).unwrap(), other)
    };
    let next = range.equal.len();
    range.equal.iter().enumerate().all(|(at, equal)| order(at, equal).is_eq())
        && match &range.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => order(next, lower).is_ge(),
            Bound::Excluded(lower) => order(next, lower).is_gt(),
        }
        && match &range.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => order(next, upper).is_le(),
            Bound::Excluded(upper) => order(next, upper).is_lt(),
        }
}

fn value<'i>(entity: &Entity, image: &'i Image, field: FieldId) -> Option<&'i Value> {
    image.fields.get(&entity.field(field).name)
}

fn compare(entity: &Entity, field: FieldId, left: &Value, right: &Value) -> Ordering {
    match (&entity.field(field).of, left, right) {
        (FieldType::Enum(members), Value::S(left), Value::S(right)) => {
            let place = |word| members.iter().position(|member| member == word);
            place(left).cmp(&place(right))
        }
        (_, Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        _ => left.compare(right).expect("values of one field compare"),
    }
}

fn passes(value: Option<&Value>, expected: &Literal) -> bool {
    match expected {
        Literal::Text(text) => value == Some(&Value::from(text.as_str())),
        Literal::Int(number) => value == Some(&Value::from(*number)),
        Literal::Bool(truth) => value == Some(&Value::from(*truth)),
        other => panic!("the models here do not use {other:?}"),
    }
}
