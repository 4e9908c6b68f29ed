//! Lists as a filter and a sort of all images: slow, and obviously right.

use std::cmp::Ordering;
use std::ops::Bound;

use keyloom_model::{Direction, Entity, Field, FieldId, FieldType, Image, Layout, List, Literal};
use keyloom_query::ListRequest;
use keyloom_value::Value;

/// The ids of the entities that a request selects, in the order of reading.
pub(crate) fn list<'i>(
    layout: &Layout,
    images: impl IntoIterator<Item = &'i Image>,
    request: &ListRequest,
) -> Vec<&'i str> {
    let naive = NaiveList::new(layout, request);
    let mut found: Vec<&Image> = images.into_iter().filter(|image| naive.has(image)).collect();
    found.sort_by(|left, right| naive.order(left, right));
    match request.direction {
        keyloom_store::Direction::Forward => {}
        keyloom_store::Direction::Backward => found.reverse(),
    }
    found.into_iter().map(|image| image.key.id.as_str()).collect()
}

/// The list that a request is about.
pub(crate) struct NaiveList<'l> {
    request: &'l ListRequest,
    entity: &'l Entity,
    list: &'l List,
}

impl<'l> NaiveList<'l> {
    pub(crate) fn new(layout: &'l Layout, request: &'l ListRequest) -> NaiveList<'l> {
        let entity = layout.model().entity(request.entity);
        NaiveList { request, entity, list: entity.list(request.list) }
    }

    /// Which of two entities comes first, if both are in the list.
    pub(crate) fn order(&self, left: &Image, right: &Image) -> Ordering {
        let orders = self.list.order.iter().map(|order| {
            let [left, right] = [left, right].map(|image| self.value(image, order.field).unwrap());
            let up = compare(self.entity.field(order.field), [left, right]);
            match order.direction {
                Direction::Ascending => up,
                Direction::Descending => up.reverse(),
            }
        });
        let first = orders.into_iter().find(|order| order.is_ne());
        first.unwrap_or_else(|| left.key.id.cmp(&right.key.id))
    }

    fn has(&self, image: &Image) -> bool {
        let NaiveList { request, list, .. } = self;
        let has = |field: FieldId, expected: &Value| self.value(image, field) == Some(expected);
        image.key.entity == request.entity
            && image.key.tenant == request.tenant
            && list.by.iter().zip(&request.by).all(|(field, expected)| has(*field, expected))
            && list.filter.iter().all(|test| passes(self.value(image, test.field), &test.value))
            && list.order.iter().all(|order| self.value(image, order.field).is_some())
            && self.has_in_range(image)
    }

    fn has_in_range(&self, image: &Image) -> bool {
        let range = &self.request.range;
        let order = |at: usize, other: &Value| {
            let field = self.list.order[at].field;
            compare(self.entity.field(field), [self.value(image, field).unwrap(), other])
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

    fn value<'i>(&self, image: &'i Image, field: FieldId) -> Option<&'i Value> {
        image.fields.get(&self.entity.field(field).name)
    }
}

/// The order of two values of a field.
fn compare(field: &Field, values: [&Value; 2]) -> Ordering {
    match (&field.of, values) {
        (FieldType::Enum(members), [Value::S(left), Value::S(right)]) => {
            let index = |word| members.iter().position(|member| member == word);
            index(left).cmp(&index(right))
        }
        (_, [Value::Bool(left), Value::Bool(right)]) => left.cmp(right),
        (_, [left, right]) => left.compare(right).expect("values of one field compare"),
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
