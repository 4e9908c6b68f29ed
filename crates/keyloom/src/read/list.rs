//! Ordered lists: a query that is built step by step, and read page by page.

use std::sync::Arc;

use keyloom_model::{Entity, List, ListId, Matching};
use keyloom_query::{Budget, Filters, ListRequest, Strategy, Total};
use keyloom_store::Direction;
use keyloom_value::Value;

use super::bounds::{Bounds, FieldBound, ReadFor, Side};
use super::by::{Given, by_values};
use super::page::{Page, records};
use crate::access::Queried;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::filter::{Filter, resolve_all};
use crate::schema::Schema;
use crate::unknown::{find_entity, unknown};

/// A query of an ordered list, made by [`Db::list`].
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Value};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.task]
///     fields.name = "text"
///     fields.done = "bool = false"
///     fields.tags = "tags = {}"
///     list.all  = {}
///     list.open = { order = "-name", where = { done = false } }
/// "#;
/// let db = Db::open(model, store).await?;
/// for (name, priority) in [("cook", "high"), ("read", "high"), ("sleep", "low")] {
///     db.create("task", &json!({ "name": name, "tags": { "priority": priority } })).await?;
/// }
/// let urgent = db.list("task", "open").tag("priority", "high").limit(1);
/// let page = urgent.read().await?;
/// assert_eq!(page.items[0].get("name"), Some(&Value::from("read")));
/// // The page after it.
/// let page = urgent.clone().after(page.next.expect("there is one")).read().await?;
/// assert_eq!(page.items[0].get("name"), Some(&Value::from("cook")));
/// assert_eq!(urgent.total().await?.count, 2);
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ListQuery {
    pub(crate) db: Db,
    pub(crate) entity: String,
    pub(crate) list: String,
    pub(super) by: Vec<(String, Value)>,
    pub(super) bounds: Vec<FieldBound>,
    direction: Direction,
    limit: u32,
    budget: Budget,
    pub(super) filters: Vec<Filter>,
    strategy: Strategy,
    pub(crate) after: Option<String>,
}

/// The default limit of a page.
const LIMIT: u32 = 20;

impl Db {
    /// Starts a query of an ordered list: refine it with its methods, then read a page.
    ///
    /// [`ListQuery`] has an example.
    pub fn list(&self, entity: &str, list: &str) -> ListQuery {
        ListQuery::new(self, entity, list)
    }
}

impl ListQuery {
    pub(super) fn new(db: &Db, entity: &str, list: &str) -> ListQuery {
        ListQuery {
            db: db.clone(),
            entity: entity.to_owned(),
            list: list.to_owned(),
            by: vec![],
            bounds: vec![],
            direction: Direction::Forward,
            limit: LIMIT,
            budget: Budget::STANDARD,
            filters: vec![],
            strategy: Strategy::Cheapest,
            after: None,
        }
    }

    /// Sets the value of a `by` field of the list.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let model = r#"
    ///     [entity.task]
    ///     fields.room = "text"
    ///     list.in_room = { by = "room" }
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// for room in ["kitchen", "garden", "kitchen"] {
    ///     db.create("task", &json!({ "room": room })).await?;
    /// }
    /// let page = db.list("task", "in_room").by("room", "kitchen").read().await?;
    /// assert_eq!(page.items.len(), 2);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn by(mut self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.by.push((field.to_owned(), value.into()));
        self
    }

    /// Only entities with this value of a field: one of the list's order, if the fields before it have a
    /// value too, or one in the `filters` of the entity.
    ///
    /// [`ListQuery::at_least`] has an example of a range.
    pub fn equal(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::Equal, value.into())
    }

    /// Only entities with at least this value of a field, as in [`ListQuery::equal`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let model = r#"
    ///     [entity.product]
    ///     fields.price = "int"
    ///     list.by_price = { order = "price" }
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// for price in [5, 10, 15, 20] {
    ///     db.create("product", &json!({ "price": price })).await?;
    /// }
    /// let query = db.list("product", "by_price").at_least("price", 10).less_than("price", 20);
    /// let prices: Vec<Option<Value>> =
    ///     query.read().await?.items.iter().map(|product| product.get("price").cloned()).collect();
    /// assert_eq!(prices, [Some(Value::from(10)), Some(Value::from(15))]);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn at_least(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::AtLeast, value.into())
    }

    /// Only entities with a greater value of a field, as in [`ListQuery::equal`].
    ///
    /// [`ListQuery::at_least`] has an example of a range.
    pub fn more_than(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::MoreThan, value.into())
    }

    /// Only entities with at most this value of a field, as in [`ListQuery::equal`].
    ///
    /// [`ListQuery::at_least`] has an example of a range.
    pub fn at_most(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::AtMost, value.into())
    }

    /// Only entities with a lesser value of a field, as in [`ListQuery::equal`].
    ///
    /// [`ListQuery::at_least`] has an example of a range.
    pub fn less_than(self, field: &str, value: impl Into<Value>) -> ListQuery {
        self.bound(field, Side::LessThan, value.into())
    }

    fn bound(mut self, field: &str, side: Side, value: Value) -> ListQuery {
        self.bounds.push(FieldBound { field: field.to_owned(), side, value });
        self
    }

    /// Only entities that have a tag.
    ///
    /// [`ListQuery`] has an example.
    pub fn tag(self, key: &str, value: &str) -> ListQuery {
        self.filter(Filter::tag(key, value))
    }

    /// Only entities that have one of these values of a facet of the list.
    ///
    /// [`ListQuery::facet_values`] has an example.
    pub fn facet<V: Into<Value>>(
        self,
        field: &str,
        values: impl IntoIterator<Item = V>,
    ) -> ListQuery {
        self.filter(Filter::any(values.into_iter().map(|value| Filter::facet(field, value))))
    }

    /// Only entities that pass a filter, besides all filters given before.
    ///
    /// [`Filter`] has an example.
    pub fn filter(mut self, filter: Filter) -> ListQuery {
        self.filters.push(filter);
        self
    }

    /// How to find what passes the filters; the result is the same.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Strategy};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nfields.tags = \"tags = {}\"\n\
    /// #     list.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("task", &json!({ "name": "cook", "tags": { "room": "kitchen" } })).await?;
    /// let query = db.list("task", "all").tag("room", "kitchen");
    /// let page = query.clone().strategy(Strategy::Walk).read().await?;
    /// assert_eq!(page.items, query.strategy(Strategy::Match).read().await?.items);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn strategy(mut self, strategy: Strategy) -> ListQuery {
        self.strategy = strategy;
        self
    }

    /// Reads in reverse order, from the end.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// for name in ["cook", "read", "sleep"] {
    ///     db.create("task", &json!({ "name": name })).await?;
    /// }
    /// let newest = db.list("task", "all").backward().limit(1).read().await?;
    /// assert_eq!(newest.items[0].get("name"), Some(&Value::from("sleep")));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
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
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Budget, Db, End};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// for name in ["cook", "read", "sleep"] {
    ///     db.create("task", &json!({ "name": name })).await?;
    /// }
    /// let budget = Budget { rows: 1, ..Budget::STANDARD };
    /// let page = db.list("task", "all").budget(budget).read().await?;
    /// assert_eq!(page.end, End::Budget);
    /// assert!(page.next.is_some());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn budget(mut self, budget: Budget) -> ListQuery {
        self.budget = budget;
        self
    }

    /// The previous page, by the `previous` of a page.
    ///
    /// [`Page`] has an example.
    pub fn before(self, cursor: impl Into<String>) -> ListQuery {
        // A cursor contains its direction.
        self.after(cursor)
    }

    /// The next page, by the `next` of a page.
    ///
    /// [`Page`] has an example.
    pub fn after(mut self, cursor: impl Into<String>) -> ListQuery {
        self.after = Some(cursor.into());
        self
    }

    /// Reads a page.
    ///
    /// [`ListQuery`] and [`Page`] have examples.
    ///
    /// # Errors
    ///
    /// If the list does not exist, a value is missing or not one of its field, the cursor belongs to
    /// another query, or the store fails.
    pub fn read(&self) -> Answer<'_, Page> {
        Box::pin(async move {
            let (schema, request) = self.ready(ReadFor::Page, |_, _| Ok(true)).await?;
            let db = self.db_for(&schema, &request).await?;
            let reader = db.reader(&schema);
            let (cursors, after) = (self.db.cursors(), self.after.as_deref());
            let (page, ran) = reader.list_recorded(&request, &cursors, after).await?;
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
    /// [`ListQuery`] has an example.
    ///
    /// # Errors
    ///
    /// If the list has no filters, or bounds of a field are given that is not in the `filters` of the
    /// entity; and as [`ListQuery::read`].
    pub fn total(&self) -> Answer<'_, Total> {
        Box::pin(async move {
            let (schema, request) = self.ready(ReadFor::Counting, |_, _| Ok(true)).await?;
            let db = self.db_for(&schema, &request).await?;
            Ok(db.reader(&schema).total(&request).await?)
        })
    }

    /// The same query, for one entity from its beginning.
    pub(crate) fn first_page(&self) -> ListQuery {
        ListQuery { after: None, limit: 1, ..self.clone() }
    }

    /// The same query without its filters by a field alone.
    pub(crate) fn without_field(&self, field: &str) -> ListQuery {
        let mut others = self.clone();
        others.filters.retain(|filter| !filter.is_by_facet(field));
        others.bounds.retain(|bound| bound.field != field);
        others
    }

    /// The schema, and the request by it, once the list and everything that the filter reads are built; and
    /// what else the caller reads of posting lists.
    pub(crate) async fn ready(
        &self,
        read_for: ReadFor,
        is_built: impl Fn(&Schema, &ListRequest) -> Result<bool, Error>,
    ) -> Result<(Arc<Schema>, ListRequest), Error> {
        let mut schema = self.ready_schema().await?;
        loop {
            let request = self.request(&schema, read_for).await?;
            if request.is_built(&schema.layouts.current) && is_built(&schema, &request)? {
                return Ok((schema, request));
            }
            // Another process may have built it.
            if self.db.snapshot.is_none() {
                self.db.shared.refresh().await?;
            }
            let latest = self.ready_schema().await?;
            if latest.edit == schema.edit {
                return Err(self.building());
            }
            schema = latest;
        }
    }

    async fn ready_schema(&self) -> Result<Arc<Schema>, Error> {
        let schema = self.db.schema_for(|schema| {
            let (entity, declared) = find_entity(schema, &self.entity)?;
            Ok(schema.is_list_ready(entity, self.find_list(declared)?))
        });
        schema.await?.ok_or_else(|| self.building())
    }

    fn building(&self) -> Error {
        Error::Building { what: format!("The list `{}` of `{}`", self.list, self.entity) }
    }

    /// The database to read from. A filter reads several posting lists, which must be of one moment: an
    /// entity that goes from one of them to another would be missed, and so would a number whose bits
    /// are of two values. Chunks are of one moment without that.
    pub(crate) async fn db_for(&self, schema: &Schema, request: &ListRequest) -> Result<Db, Error> {
        let is_of_sets = schema.layouts.current.matching() == Matching::Sets;
        self.db.at_one_moment_if(request.filter.is_some() && is_of_sets).await
    }

    /// The request of the part of the list that the user may read.
    pub(crate) async fn request(
        &self,
        schema: &Schema,
        read_for: ReadFor,
    ) -> Result<ListRequest, Error> {
        let (entity, declared) = find_entity(schema, &self.entity)?;
        let list = self.find_list(declared)?;
        let Bounds { range, filters } = Bounds::of(&self.bounds, (declared, list), read_for)?;
        let mut filters = [&self.filters[..], &filters].concat();
        let List { by, readers, .. } = declared.list(list);
        let (what, name) = ("list", self.list.as_str());
        let queried = Queried { what, name, entity, readers, by, given: &self.by };
        let limited = self.db.limited(schema, queried).await?;
        filters.extend(
            limited.owner.map(|limit| {
                Filter::facet(&declared.field(limit.field).name, limit.subject.as_str())
            }),
        );
        let given = Given { what, name, values: &limited.by };
        Ok(ListRequest {
            tenant: self.db.scope(schema).tenant_of(entity)?,
            by: by_values(declared, by, &given)?,
            range,
            direction: self.direction,
            limit: self.limit,
            budget: self.budget,
            filter: resolve_all(&filters, Filters { entity: declared, list })?,
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
}
