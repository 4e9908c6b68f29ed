//! Reading entities: by id, by a unique value, as an ordered list, with children.

use std::ops::Bound;
use std::sync::Arc;

use keyloom_model::{Entity, FieldId, ListId, OwnRow, UniqueId};
use keyloom_query::{
    Budget, Children, End, FamilyRequest, Filters, ListRequest, Range, ReadCost, Strategy, Total,
};
use keyloom_store::{Direction, yield_point};
use keyloom_value::Value;
use serde::de::DeserializeOwned;

use crate::Record;
use crate::answer::Answer;
use crate::db::{Db, find_entity, unknown};
use crate::error::Error;
use crate::filter::{Filter, resolve_all};
use crate::schema::Schema;

/// A page of entities.
#[derive(Clone, Debug)]
pub struct Page {
    /// In the order that was asked for.
    pub items: Vec<Record>,
    /// Where the next page begins; absent if nothing follows.
    pub next: Option<String>,
    /// Where the page before begins; absent on the first page, and on pages of children.
    pub previous: Option<String>,
    /// Why the page ends where it does.
    pub end: End,
    /// What was read of the list for it.
    pub read: ReadCost,
}

impl Page {
    /// The entities as a type of yours.
    ///
    /// # Errors
    ///
    /// As [`Record::to`].
    pub fn to<T: DeserializeOwned>(&self) -> Result<Vec<T>, Error> {
        self.items.iter().map(Record::to).collect()
    }
}

/// An entity with its children.
#[derive(Clone, Debug)]
pub struct Family {
    /// The parent.
    pub parent: Record,
    /// The first of its children, in order of their ids.
    pub children: Vec<Record>,
    /// Where the next children begin; absent if nothing follows.
    pub next: Option<String>,
}

/// A question to an ordered list, made by [`Db::list`].
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

/// What a value of an order field bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Equal,
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
}

/// How many entities a page has if nothing is said.
const LIMIT: u32 = 20;

impl Db {
    /// The entity with an id.
    ///
    /// # Errors
    ///
    /// If there is no such kind of entity, or the store fails.
    pub fn get<'a>(&'a self, entity: &'a str, id: &'a str) -> Answer<'a, Option<Record>> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let (entity, _) = find_entity(&schema, entity)?;
            let key = self.key(&schema, entity, id)?;
            let row = self.reader(&schema).get(&key).await?;
            Ok(row.map(|row| record(&schema, row)))
        })
    }

    /// The entity that has these values of a unique: its fields, and the scope if it has one.
    ///
    /// # Errors
    ///
    /// If no unique has exactly these fields, a value is none of its field, or the store fails.
    pub fn find<'a>(
        &'a self,
        entity: &'a str,
        values: &'a [(&'a str, Value)],
    ) -> Answer<'a, Option<Record>> {
        Box::pin(async move {
            let schema = self.schema_for(|schema| {
                let (id, declared) = find_entity(schema, entity)?;
                Ok(schema.is_unique_ready(id, find_unique(declared, values)?.0))
            });
            let schema = schema.await?.ok_or_else(|| {
                let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
                let what = format!("The unique `{}` of `{entity}`", names.join("`, `"));
                Error::Building { what }
            })?;
            let (id, declared) = find_entity(&schema, entity)?;
            let (unique, values) = find_unique(declared, values)?;
            let tenant = self.tenant_of(&schema, id)?;
            let reader = self.reader(&schema);
            let row = reader.find(id, tenant.as_ref(), unique, &values).await?;
            Ok(row.map(|row| record(&schema, row)))
        })
    }

    /// A question to an ordered list: say more with its methods, then read a page.
    pub fn list(&self, entity: &str, list: &str) -> ListQuery {
        ListQuery {
            db: self.clone(),
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

    /// An entity and the first of its children, in one read: of one kind, or of all kinds.
    ///
    /// # Errors
    ///
    /// If there is no such kind of entity or child, or the store fails.
    pub fn family<'a>(
        &'a self,
        entity: &'a str,
        id: &'a str,
        children: Option<&'a str>,
        limit: u32,
    ) -> Answer<'a, Option<Family>> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let request = self.family_request(&schema, (entity, id), (children, limit))?;
            let family = self.reader(&schema).family(&request, &self.shared.cursor_key).await?;
            let Some(family) = family else { return Ok(None) };
            Ok(Some(Family {
                parent: record(&schema, family.parent),
                children: records(&schema, family.children).await,
                next: family.next,
            }))
        })
    }

    /// More children of an entity, after those that [`Db::family`] brought. None if the entity is
    /// not there.
    ///
    /// # Errors
    ///
    /// As [`Db::family`]; and if the cursor is not one of this question.
    pub fn children<'a>(
        &'a self,
        entity: &'a str,
        id: &'a str,
        children: Option<&'a str>,
        (limit, after): (u32, Option<&'a str>),
    ) -> Answer<'a, Option<Page>> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let request = self.family_request(&schema, (entity, id), (children, limit))?;
            let reader = self.reader(&schema);
            let page = reader.children(&request, &self.shared.cursor_key, after).await?;
            let Some(page) = page else { return Ok(None) };
            Ok(Some(Page {
                items: records(&schema, page.children).await,
                end: if page.next.is_some() { End::Limit } else { End::Exhausted },
                next: page.next,
                previous: None,
                read: page.read,
            }))
        })
    }

    /// The schema, if it is ready for a question; another process may have made it so.
    pub(crate) async fn schema_for(
        &self,
        is_ready: impl Fn(&Schema) -> Result<bool, Error>,
    ) -> Result<Option<Arc<Schema>>, Error> {
        if let Some(moment) = &self.moment {
            return Ok(is_ready(&moment.schema)?.then(|| moment.schema.clone()));
        }
        let schema = self.shared.schema();
        if is_ready(&schema)? {
            return Ok(Some(schema));
        }
        self.shared.refresh().await?;
        let schema = self.shared.schema();
        Ok(is_ready(&schema)?.then_some(schema))
    }

    fn family_request(
        &self,
        schema: &Schema,
        (entity, id): (&str, &str),
        (children, limit): (Option<&str>, u32),
    ) -> Result<FamilyRequest, Error> {
        let (entity, _) = find_entity(schema, entity)?;
        let children = match children {
            None => Children::All,
            Some(name) => Children::Of(find_entity(schema, name)?.0),
        };
        Ok(FamilyRequest { parent: self.key(schema, entity, id)?, children, limit })
    }
}

impl ListQuery {
    /// The value of a field of the list's `by`.
    pub fn by(mut self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.by.push((field.to_owned(), value.into()));
        self
    }

    /// Only entities with this value of a field that orders the list. The fields before it in the
    /// order must have a value too.
    pub fn equal(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::Equal, value.into())
    }

    /// Only entities with this value of an order field or a greater one.
    pub fn at_least(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::AtLeast, value.into())
    }

    /// Only entities with a greater value of an order field.
    pub fn more_than(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::MoreThan, value.into())
    }

    /// Only entities with this value of an order field or a lesser one.
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

    /// Only entities that pass a filter; and all others that were given.
    pub fn filter(mut self, filter: Filter) -> ListQuery {
        self.filters.push(filter);
        self
    }

    /// How what passes the filters is found: the answer is the same.
    pub fn strategy(mut self, strategy: Strategy) -> ListQuery {
        self.strategy = strategy;
        self
    }

    /// The other way round, from the end.
    pub fn backward(mut self) -> ListQuery {
        self.direction = Direction::Backward;
        self
    }

    /// How many entities a page has, at most; 20 if nothing is said.
    pub fn limit(mut self, limit: u32) -> ListQuery {
        self.limit = limit;
        self
    }

    /// How much may be read for a page. A page that is short for it has a cursor to go on with.
    pub fn budget(mut self, budget: Budget) -> ListQuery {
        self.budget = budget;
        self
    }

    /// The page before the one that has this cursor as `previous`.
    pub fn before(self, cursor: impl Into<String>) -> ListQuery {
        // A cursor says itself which way it leads.
        self.after(cursor)
    }

    /// The page after the one that has this cursor as `next`.
    pub fn after(mut self, cursor: impl Into<String>) -> ListQuery {
        self.after = Some(cursor.into());
        self
    }

    /// Reads a page.
    ///
    /// # Errors
    ///
    /// If there is no such list, a value is missing or none of its field, the cursor is not one of
    /// this question, or the store fails.
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

    /// How many entities pass the filters, of all that are in the list. Those that have expired
    /// count until [`Db::expire`] has put them away.
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
            tenant: self.db.tenant_of(schema, entity)?,
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

    /// The bounds in the order of the list's fields: values of the first ones, then bounds of one.
    fn range(&self, entity: &Entity, list: ListId) -> Result<Range, Error> {
        let mut range = Range::ALL;
        let mut used = 0;
        for order in &entity.list(list).order {
            let field = entity.field(order.field);
            let of_field = self.range.iter().filter(|(name, ..)| *name == field.name);
            let bounds: Vec<(Side, Value)> =
                of_field.map(|(_, side, value)| (*side, field.of.take(value))).collect();
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
            true if entity.has_ordinals() => "it is in order of creation only".to_owned(),
            true => "it is in order of ids only".to_owned(),
            false => format!(
                "it is ordered by `{}`; give the first ones one value each, and bounds to the next",
                names.join("`, `")
            ),
        };
        let what = format!("The list `{}` has no such range", self.list);
        Error::Unknown { what, help: Some(help) }
    }
}

/// The unique that has exactly these fields, and the values in its order.
fn find_unique(entity: &Entity, values: &[(&str, Value)]) -> Result<(UniqueId, Vec<Value>), Error> {
    for (id, unique) in entity.uniques() {
        let fields = unique.within.iter().chain(&unique.fields);
        let value = |field: &FieldId| {
            let field = entity.field(*field);
            let found = values.iter().find(|(name, _)| *name == field.name);
            found.map(|(_, value)| field.of.take(value))
        };
        let found: Option<Vec<Value>> = fields.map(value).collect();
        if let Some(found) = found.filter(|found| found.len() == values.len()) {
            return Ok((id, found));
        }
    }
    let asked: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    Err(Error::Unknown {
        what: format!("`{}` has no unique of `{}`", entity.name, asked.join("`, `")),
        help: None,
    })
}

pub(crate) fn record(schema: &Arc<Schema>, row: OwnRow) -> Record {
    Record::new(schema, schema.layouts.upgraded(row))
}

pub(crate) async fn records(schema: &Arc<Schema>, rows: Vec<OwnRow>) -> Vec<Record> {
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        yield_point().await;
        records.push(record(schema, row));
    }
    records
}

fn bounded_twice(field: &str) -> Error {
    Error::Unknown {
        what: format!("`{field}` is bounded twice"),
        help: Some("give it one value, or one lower and one upper bound".to_owned()),
    }
}

/// Values of `by` that were given to a list, a count or a board.
pub(crate) struct Given<'g> {
    pub(crate) what: &'static str,
    pub(crate) name: &'g str,
    pub(crate) values: &'g [(String, Value)],
}

/// One value for each field of `by`.
pub(crate) fn by_values(
    entity: &Entity,
    fields: &[FieldId],
    given: &Given<'_>,
) -> Result<Vec<Value>, Error> {
    let Given { what, name: of, values } = given;
    for (index, (name, _)) in values.iter().enumerate() {
        if values[..index].iter().any(|(before, _)| before == name) {
            return Err(bounded_twice(name));
        }
        let is_by = |field: &FieldId| entity.field(*field).name == *name;
        if !fields.iter().any(is_by) {
            let what = format!("`{name}` is not in `by` of the {what} `{of}`");
            let names = fields.iter().map(|field| entity.field(*field).name.as_str());
            return Err(unknown(what, name, names));
        }
    }
    let value = |field: &FieldId| {
        let field = entity.field(*field);
        let given = values.iter().find(|(name, _)| *name == field.name);
        given.map(|(_, value)| field.of.take(value)).ok_or_else(|| Error::Unknown {
            what: format!("The {what} `{of}` needs a value of `{}`", field.name),
            help: Some(format!("there is one {what} for each of its values")),
        })
    };
    fields.iter().map(value).collect()
}
