//! List queries as items that can be stored, and read again by another process. Order, limit and cursor
//! are no part of them.

use keyloom_value::{Item, Value};

use super::bounds::{FieldBound, Side};
use super::list::ListQuery;
use crate::db::Db;
use crate::error::Error;
use crate::filter::Filter;

const ENTITY: &str = "entity";
const LIST: &str = "list";
const BY: &str = "by";
const BOUNDS: &str = "bounds";
const FILTERS: &str = "filters";

impl ListQuery {
    /// The item of the query.
    pub(crate) fn to_item(&self) -> Item {
        let by = self.by.iter();
        let by = by.map(|(field, value)| Value::L(vec![field.as_str().into(), value.clone()]));
        let bounds = self.bounds.iter().map(|FieldBound { field, side, value }| {
            Value::L(vec![field.as_str().into(), side.sign().into(), value.clone()])
        });
        let filters = self.filters.iter().map(Filter::to_value);
        Item::from([
            (ENTITY, Value::from(self.entity.as_str())),
            (LIST, Value::from(self.list.as_str())),
            (BY, Value::L(by.collect())),
            (BOUNDS, Value::L(bounds.collect())),
            (FILTERS, Value::L(filters.collect())),
        ])
    }

    /// Reads the query of an item.
    ///
    /// # Errors
    ///
    /// If the item is not one.
    pub(crate) fn from_item(db: &Db, item: &Item) -> Result<ListQuery, Error> {
        read(db, item).ok_or_else(|| Error::damaged("A stored query cannot be read."))
    }
}

fn read(db: &Db, item: &Item) -> Option<ListQuery> {
    let text = |name| item.get(name)?.as_s();
    let list = |name| match item.get(name) {
        Some(Value::L(values)) => Some(values),
        Some(_) | None => None,
    };
    // The entity may have been renamed since.
    let schema = db.shared.schema();
    let mut query = ListQuery::new(db, schema.model().present_name(text(ENTITY)?), text(LIST)?);
    query.by = list(BY)?.iter().map(by).collect::<Option<_>>()?;
    query.bounds = list(BOUNDS)?.iter().map(bound).collect::<Option<_>>()?;
    query.filters = list(FILTERS)?.iter().map(Filter::from_value).collect::<Option<_>>()?;
    Some(query)
}

fn by(value: &Value) -> Option<(String, Value)> {
    let Value::L(parts) = value else { return None };
    let [field, value] = &parts[..] else { return None };
    Some((field.as_s()?.to_owned(), value.clone()))
}

fn bound(value: &Value) -> Option<FieldBound> {
    let Value::L(parts) = value else { return None };
    let [field, sign, value] = &parts[..] else { return None };
    let side = Side::ALL.into_iter().find(|side| sign.as_s() == Some(side.sign()))?;
    Some(FieldBound { field: field.as_s()?.to_owned(), side, value: value.clone() })
}

impl Side {
    const ALL: [Side; 5] =
        [Side::Equal, Side::AtLeast, Side::MoreThan, Side::AtMost, Side::LessThan];

    fn sign(self) -> &'static str {
        match self {
            Side::Equal => "=",
            Side::AtLeast => ">=",
            Side::MoreThan => ">",
            Side::AtMost => "<=",
            Side::LessThan => "<",
        }
    }
}
