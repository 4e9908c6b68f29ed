//! Ordered lists: a query that is built step by step, and read page by page.

use std::ops::Bound;
use std::sync::Arc;

use keyloom_model::{Entity, ListId};
use keyloom_query::{Budget, Filters, ListRequest, Range, Strategy, Total};
use keyloom_store::Direction;
use keyloom_value::Value;

use super::by::{Given, bounded_twice, by_values};
use super::page::{Page, records};
use crate::answer::Answer;
use crate::db::{Db, find_entity, unknown};
use crate::error::Error;
use crate::filter::{Filter, resolve_all};
use crate::schema::Schema;

/// A query of an ordered list, made by [`Db::list`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ListQuery {
    pub(crate) db: Db,
    pub(crate) entity: String,
    pub(crate) list: String,
    by: Vec<(String, Value)>,
    range: Vec<(String, Side, Value)>,
    direction: Direction,
    limit: u32,
    budget: Budget,
    pub(crate) filters: Vec<Filter>,
    strategy: Strategy,
    pub(crate) after: Option<String>,
}

/// How a value of an order field bounds a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Equal,
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
}

/// The default limit of a page.
const LIMIT: u32 = 20;

impl Db {
    /// Starts a query of an ordered list: refine it with its methods, then read a page.
    pub fn list(&self, entity: &str, list: &str) -> ListQuery {
        ListQuery::new(self, entity, list)
    }
}

impl ListQuery {
    fn new(db: &Db, entity: &str, list: &str) -> ListQuery {
        ListQuery {
            db: db.clone(),
            entity: entity.to_owned(),
            list: list.to_owned(),
            by: vec![],
            range: vec![],
            direction: Direction::Forward,
            limit: LIMIT,
            budget: Budget::STANDARD,
            filters: vec![],
            strategy: Strategy::Cheapest,
            after: None,
        }
    }

    /// Sets the value of a `by` field of the list.
    pub fn by(mut self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.by.push((field.to_owned(), value.into()));
        self
    }

    /// Only entities with this value of an order field. The fields before it in the order must have
    /// a value too.
    pub fn equal(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::Equal, value.into())
    }

    /// Only entities with at least this value of an order field.
    pub fn at_least(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::AtLeast, value.into())
    }

    /// Only entities with a greater value of an order field.
    pub fn more_than(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::MoreThan, value.into())
    }

    /// Only entities with at most this value of an order field.
    pub fn at_most(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::AtMost, value.into())
    }

    /// Only entities with a lesser value of an order field.
    pub fn less_than(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::LessThan, value.into())
    }

    fn bound(mut self, field: &str, side: Side, value: Value) -> ListQuery {
        self.range.push((field.to_owned(), side, value));
        self
    }

    /// Only entities that have a tag.
    pub fn tag(self, key: &str, value: &str) -> ListQuery {
        self.filter(Filter::tag(key, value))
    }

    /// Only entities that have one of these values of a facet of the list.
    pub fn facet<V: Into<Value>>(
        self,
        field: &str,
        values: impl IntoIterator<Item = V>,
    ) -> ListQuery {
        self.filter(Filter::any(values.into_iter().map(|value| Filter::facet(field, value))))
    }

    /// Only entities that pass a filter, besides all filters given before.
    pub fn filter(mut self, filter: Filter) -> ListQuery {
        self.filters.push(filter);
        self
    }

    /// How to find what passes the filters; the result is the same.
    pub fn strategy(mut self, strategy: Strategy) -> ListQuery {
        self.strategy = strategy;
        self
    }

    /// Reads in reverse order, from the end.
    pub fn backward(mut self) -> ListQuery {
        self.direction = Direction::Backward;
        self
    }

    /// The maximum number of entities on a page [default: 20].
    pub fn limit(mut self, limit: u32) -> ListQuery {
        self.limit = limit;
        self
    }

    /// The maximum cost of a page. A page that is cut short has a cursor to continue with.
    pub fn budget(mut self, budget: Budget) -> ListQuery {
        self.budget = budget;
        self
    }

    /// The previous page, by the `previous` of a page.
    pub fn before(self, cursor: impl Into<String>) -> ListQuery {
        // A cursor contains its direction.
        self.after(cursor)
    }

    /// The next page, by the `next` of a page.
    pub fn after(mut self, cursor: impl Into<String>) -> ListQuery {
        self.after = Some(cursor.into());
        self
    }

    /// Reads a page.
    ///
    /// # Errors
    ///
    /// If the list does not exist, a value is missing or not one of its field, the cursor belongs to
    /// another query, or the store fails.
    pub fn read(&self) -> Answer<'_, Page> {
        Box::pin(async move {
            let schema = self.ready_schema().await?;
            let request = self.request(&schema)?;
            let reader = self.db.reader(&schema);
            let (cursors, after) = (&self.db.shared.cursor_key, self.after.as_deref());
            let (page, ran) = reader.list_recorded(&request, cursors, after).await?;
            if let Some(watch) = &self.db.watch {
                watch.record(self.db.shared.reader(&schema).explain(&request, &ran).await?);
            }
            let keyloom_query::ListPage { rows, next, previous, end, read } = page;
            let items = records(&schema, rows).await;
            Ok(Page { items, next, previous, end, read })
        })
    }

    /// Counts the entities of the list that pass the filters. Expired entities count until
    /// [`Db::expire`] has deleted them.
    ///
    /// # Errors
    ///
    /// If the list has no tags and no facets, or a range is given; and as [`ListQuery::read`].
    pub fn total(&self) -> Answer<'_, Total> {
        Box::pin(async move {
            let schema = self.ready_schema().await?;
            let request = self.request(&schema)?;
            Ok(self.db.reader(&schema).total(&request).await?)
        })
    }

    pub(crate) async fn ready_schema(&self) -> Result<Arc<Schema>, Error> {
        let schema = self.db.schema_for(|schema| {
            let (entity, declared) = find_entity(schema, &self.entity)?;
            let list = self.find_list(declared)?;
            let is_matching_ready = self.filters.is_empty() || schema.is_matching_ready(entity);
            Ok(is_matching_ready && schema.is_list_ready(entity, list))
        });
        schema.await?.ok_or_else(|| {
            let what = format!("The list `{}` of `{}`", self.list, self.entity);
            Error::Building { what }
        })
    }

    pub(crate) fn request(&self, schema: &Schema) -> Result<ListRequest, Error> {
        let (entity, declared) = find_entity(schema, &self.entity)?;
        let list = self.find_list(declared)?;
        let given = Given { what: "list", name: &self.list, values: &self.by };
        Ok(ListRequest {
            tenant: self.db.scope(schema).tenant_of(entity)?,
            by: by_values(declared, &declared.list(list).by, &given)?,
            range: self.range(declared, list)?,
            direction: self.direction,
            limit: self.limit,
            budget: self.budget,
            filter: resolve_all(&self.filters, Filters { entity: declared, list })?,
            strategy: self.strategy,
            ..ListRequest::new(entity, list)
        })
    }

    pub(crate) fn find_list(&self, entity: &Entity) -> Result<ListId, Error> {
        entity.find_list(&self.list).ok_or_else(|| {
            let what = format!("`{}` has no list `{}`", entity.name, self.list);
            unknown(what, &self.list, entity.lists.iter().map(|list| list.name.as_str()))
        })
    }

    /// The bounds in the order of the list: values of its leading fields, then bounds of one field.
    fn range(&self, entity: &Entity, list: ListId) -> Result<Range, Error> {
        let mut range = Range::ALL;
        let mut used = 0;
        for order in &entity.list(list).order {
            let field = entity.field(order.field);
            let of_field = self.range.iter().filter(|(name, ..)| *name == field.name);
            let bounds: Vec<(Side, Value)> =
                of_field.map(|(_, side, value)| (*side, field.of.to_stored(value))).collect();
            used += bounds.len();
            if let [(Side::Equal, value)] = &bounds[..] {
                range.equal.push(value.clone());
                continue;
            }
            for (side, value) in bounds {
                let (bound, value) = match side {
                    Side::Equal => return Err(bounded_twice(&field.name)),
                    Side::AtLeast => (&mut range.lower, Bound::Included(value)),
                    Side::MoreThan => (&mut range.lower, Bound::Excluded(value)),
                    Side::AtMost => (&mut range.upper, Bound::Included(value)),
                    Side::LessThan => (&mut range.upper, Bound::Excluded(value)),
                };
                if *bound != Bound::Unbounded {
                    return Err(bounded_twice(&field.name));
                }
                *bound = value;
            }
            break;
        }
        if used == self.range.len() { Ok(range) } else { Err(self.no_such_range(entity, list)) }
    }

    fn no_such_range(&self, entity: &Entity, list: ListId) -> Error {
        let order = entity.list(list).order.iter();
        let names: Vec<&str> = order.map(|order| entity.field(order.field).name.as_str()).collect();
        let help = match names.is_empty() {
            true if entity.has_ordinals() => "it is ordered by creation only".to_owned(),
            true => "it is ordered by id only".to_owned(),
            false => format!(
                "it is ordered by `{}`; give each leading field one value, and bounds to the next",
                names.join("`, `")
            ),
        };
        let what = format!("Invalid range of the list `{}`", self.list);
        Error::Unknown { what, help: Some(help) }
    }
}
