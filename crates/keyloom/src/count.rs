//! Counts: how many entities there are, in total or with some values, as one number or split by value.

use std::borrow::Cow;
use std::sync::Arc;

use keyloom_model::{Count, CountId, Entity, FieldId, FieldType, SumTooLong};
use keyloom_query::{CountNumber, CountPage, CountRequest, ReadCost, WindowRange};
use keyloom_value::{Item, Name, Value};

use crate::access::Queried;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::read::{Given, by_values};
use crate::schema::Schema;
use crate::unknown::{find_entity, unknown};

/// The default limit of a page.
const LIMIT: u32 = 100;

/// A query of a count, made by [`Db::count`].
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::Db;
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.sale]
///     fields.shop    = "text"
///     fields.channel = "enum(web, till)"
///     fields.price   = "number"
///     count.of_shop = { by = "shop", split = ["channel"], sum = ["price"] }
/// "#;
/// let db = Db::open(model, store).await?;
/// for (channel, price) in [("web", 20), ("web", 5), ("till", 1)] {
///     db.create("sale", &json!({ "shop": "north", "channel": channel, "price": price })).await?;
/// }
/// let count = db.count("sale", "of_shop").by("shop", "north");
/// assert_eq!(count.total().await?, 3);
/// assert_eq!(count.clone().only("channel", "web").total().await?, 2);
/// assert_eq!(count.split("channel").read().await?.items.len(), 2);
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CountQuery {
    db: Db,
    entity: String,
    count: String,
    by: Vec<(String, Value)>,
    only: Vec<(String, Value)>,
    split: Vec<String>,
    windows: Option<String>,
    is_filled: bool,
    limit: u32,
    after: Option<String>,
}

/// A page of a count.
///
/// [`CountQuery::windows`] has an example.
#[derive(Clone, Debug)]
pub struct Counts {
    /// Ordered by the values of the split fields, then by time.
    pub items: Vec<Counted>,
    /// The cursor of the next page; absent on the last page.
    pub next: Option<String>,
    /// What was read for it.
    pub read: ReadCost,
}

/// A number of a count, with its sums.
///
/// [`CountQuery::whole`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Values of the split fields.
    pub values: Item,
    /// When its window begins, if windows were requested, on the clocks of the count's time zone.
    pub window: Option<String>,
    /// How many entities have them.
    pub count: u64,
    /// The exact sum of each field that the count adds up, by name.
    pub sums: Item,
    /// The average of each of these fields that any of the entities has, rounded half to even to 16
    /// digits.
    pub averages: Item,
    /// The least value of each field that the count has it of and that any of the entities has.
    pub min: Item,
    /// The greatest value of each of these fields.
    pub max: Item,
}

impl Counted {
    /// Returns the members that responses have of it: `count`, and `sum`, `average`, `min` and `max` of
    /// fields in external form, if the count has them. `entity` declares the `count`.
    pub fn to_item(&self, entity: &Entity, count: &Count) -> Item {
        let mut members = Item::from([("count", Value::from(self.count))]);
        let aggregates = [
            ("sum", &count.sums, &self.sums),
            ("average", &count.sums, &self.averages),
            ("min", &count.min, &self.min),
            ("max", &count.max, &self.max),
        ];
        for (name, fields, values) in aggregates {
            if !fields.is_empty() {
                members.insert(name, Value::M(entity.external_values(values).collect()));
            }
        }
        members
    }
}

impl Db {
    /// Starts a query of a count: refine it with its methods, then read it.
    ///
    /// [`CountQuery`] has an example.
    pub fn count(&self, entity: &str, count: &str) -> CountQuery {
        CountQuery {
            db: self.clone(),
            entity: entity.to_owned(),
            count: count.to_owned(),
            by: vec![],
            only: vec![],
            split: vec![],
            windows: None,
            is_filled: false,
            limit: LIMIT,
            after: None,
        }
    }
}

impl CountQuery {
    /// Sets the value of a `by` field of the count.
    pub fn by(mut self, field: &str, value: impl Into<Value>) -> CountQuery {
        self.by.push((field.to_owned(), value.into()));
        self
    }

    /// Only entities with this value of a `split` field of the count.
    pub fn only(mut self, field: &str, value: impl Into<Value>) -> CountQuery {
        self.only.push((field.to_owned(), value.into()));
        self
    }

    /// One number for each value of a `split` field; for several fields, for each combination.
    pub fn split(mut self, field: &str) -> CountQuery {
        self.split.push(field.to_owned());
        self
    }

    /// One number for each window of time, in a range such as `2024-02-01..2024-03-01`. Each end is a date
    /// in the count's time zone or a time, or left out. The first window is the one that the first end
    /// is in; the last one begins before the second end.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let model = r#"
    ///     [entity.sale]
    ///     fields.paid = "time"
    ///     count.by_day = { window = "day", of = "paid" }
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// for paid in ["2024-02-01T09:00:00Z", "2024-02-01T17:30:00Z", "2024-02-03T12:00:00Z"] {
    ///     db.create("sale", &json!({ "paid": paid })).await?;
    /// }
    /// let days = db.count("sale", "by_day").windows("2024-02-01..2024-03-01").read().await?;
    /// let sales: Vec<u64> = days.items.iter().map(|day| day.count).collect();
    /// assert_eq!(sales, [2, 1]);
    /// assert_eq!(days.items[0].window.as_deref(), Some("2024-02-01T00:00:00+00:00"));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn windows(mut self, range: &str) -> CountQuery {
        self.windows = Some(range.to_owned());
        self
    }

    /// Also windows without entities. The range must have both ends.
    pub fn filled(mut self) -> CountQuery {
        self.is_filled = true;
        self
    }

    /// The maximum number of counts on a page [default: 100].
    pub fn limit(mut self, limit: u32) -> CountQuery {
        self.limit = limit;
        self
    }

    /// The next page, by the `next` of a page.
    pub fn after(mut self, cursor: impl Into<String>) -> CountQuery {
        self.after = Some(cursor.into());
        self
    }

    /// Returns the number of entities, without split and windows. Expired entities count until
    /// [`Db::expire`] has deleted them.
    ///
    /// # Errors
    ///
    /// As [`CountQuery::read`].
    pub fn total(&self) -> Answer<'_, u64> {
        Box::pin(async move { Ok(self.whole().await?.count) })
    }

    /// Returns the number of entities with the sums of the count, without split and windows.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let model = r#"
    ///     [entity.sale]
    ///     fields.price = "number"
    ///     count.all = { sum = ["price"], max = ["price"] }
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// for price in [20, 5] {
    ///     db.create("sale", &json!({ "price": price })).await?;
    /// }
    /// let sales = db.count("sale", "all").whole().await?;
    /// assert_eq!(sales.count, 2);
    /// assert_eq!(sales.sums.get("price"), Some(&Value::from(25)));
    /// assert_eq!(sales.max.get("price"), Some(&Value::from(20)));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`CountQuery::read`].
    pub fn whole(&self) -> Answer<'_, Counted> {
        Box::pin(async move {
            let whole = CountQuery { split: vec![], windows: None, after: None, ..self.clone() };
            let page = whole.read().await?;
            Ok(page.items.into_iter().next().unwrap_or_default())
        })
    }

    /// Reads a page of the counts that are not 0; without a split, the total.
    ///
    /// # Errors
    ///
    /// If the count does not exist, a value is missing or not one of its field, a field is not a `split`
    /// field, the count has no windows or the range is not one of windows, the cursor belongs to another
    /// query, or the store fails.
    pub fn read(&self) -> Answer<'_, Counts> {
        Box::pin(async move {
            let schema = self.ready_schema().await?;
            let page = self.page(&schema).await?;
            let items = page.numbers.into_iter().map(|number| self.counted(&schema, number));
            let items = items.collect::<Result<_, Error>>()?;
            Ok(Counts { items, next: page.next, read: page.read })
        })
    }

    fn counted(&self, schema: &Schema, number: CountNumber) -> Result<Counted, Error> {
        let CountNumber { values, window_ms, amount, min, max } = number;
        let (_, entity) = find_entity(schema, &self.entity)?;
        let count = entity.count(self.find_count(entity)?);
        let window = count.window.as_ref().zip(window_ms);
        let window = window.map(|(window, start)| window.write(start));
        let names = self.split.iter().map(|name| Name::from(name.as_str()));
        let values = names.zip(values).collect();
        let named = |values: Vec<(FieldId, Value)>| -> Item {
            let name = |field: FieldId| Name::from(entity.field(field).name.as_str());
            values.into_iter().map(|(field, value)| (name(field), value)).collect()
        };
        let mut counted = Counted {
            values,
            window,
            min: named(min),
            max: named(max),
            count: u64::try_from(amount.count).unwrap_or(0),
            ..Counted::default()
        };
        for field in &count.sums {
            let field = entity.field(*field);
            let too_long = || SumTooLong { field: field.name.clone() };
            let sum = amount.sum(field).ok_or_else(too_long)?;
            let average = sum.divided_by(amount.present(field));
            let (name, is_time) = (field.name.as_str(), field.of == FieldType::Time);
            // A sum of times means nothing; their average is a time, which has milliseconds.
            if !is_time {
                counted.sums.insert(name, Value::N(sum));
            }
            let average = match is_time {
                true => average.and_then(|average| average.floor_i64()).map(Value::from),
                false => average.map(Value::N),
            };
            if let Some(average) = average {
                counted.averages.insert(name, average);
            }
        }
        Ok(counted)
    }

    async fn page(&self, schema: &Schema) -> Result<CountPage, Error> {
        let request = self.request(schema).await?;
        let (cursors, after) = (self.db.cursors(), self.after.as_deref());
        let (_, entity) = find_entity(schema, &self.entity)?;
        // A number and its least value are in different rows.
        let is_apart = !entity.count(request.count).extremes().is_empty();
        let db = self.db.at_one_moment_if(is_apart).await?;
        let page = db.reader(schema).count(&request, &cursors, after).await?;
        if !page.is_torn || db.snapshot.is_some() {
            return Ok(page);
        }
        // What deletions subtract from a counter is in rows beside it, perhaps on the next page. Without
        // snapshots, the result stays as it is.
        let unwatched = Db { watch: None, ..self.db.clone() };
        let db = unwatched.at_one_moment().await?;
        match db.snapshot {
            Some(_) => Ok(db.reader(schema).count(&request, &cursors, after).await?),
            None => Ok(page),
        }
    }

    async fn ready_schema(&self) -> Result<Arc<Schema>, Error> {
        let schema = self.db.schema_for(|schema| {
            let (entity, declared) = find_entity(schema, &self.entity)?;
            Ok(schema.is_count_ready(entity, self.find_count(declared)?))
        });
        schema.await?.ok_or_else(|| {
            let what = format!("The count `{}` of `{}`", self.count, self.entity);
            Error::Building { what }
        })
    }

    fn find_count(&self, entity: &Entity) -> Result<CountId, Error> {
        entity.find_count(&self.count).ok_or_else(|| {
            let what = format!("`{}` has no count `{}`", entity.name, self.count);
            unknown(what, &self.count, entity.counts.iter().map(|count| count.name.as_str()))
        })
    }

    /// The request of the part of the count that the user may read.
    async fn request(&self, schema: &Schema) -> Result<CountRequest, Error> {
        let (id, entity) = find_entity(schema, &self.entity)?;
        let count = self.find_count(entity)?;
        let Count { by, readers, .. } = entity.count(count);
        let (what, name) = ("count", self.count.as_str());
        let queried = Queried { what, name, entity: id, readers, by, given: &self.by };
        let limited = self.db.limited(schema, queried).await?;
        let mut limited_to = Cow::Borrowed(&self.only[..]);
        if let Some(limit) = limited.owner {
            limit.add_to(entity, queried, limited_to.to_mut())?;
        }
        let given = Given { what, name, values: &limited.by };
        let only = |(name, value): &(String, Value)| {
            let field = self.split_field(entity, count, name)?;
            Ok((field, entity.field(field).of.to_stored(value)))
        };
        let split = self.split.iter().map(|name| self.split_field(entity, count, name));
        Ok(CountRequest {
            entity: id,
            count,
            tenant: self.db.scope(schema).tenant_of(id)?,
            by: by_values(entity, by, &given)?,
            only: limited_to.iter().map(only).collect::<Result<_, Error>>()?,
            split: split.collect::<Result<_, Error>>()?,
            windows: self.window_range(entity.count(count))?,
            limit: self.limit,
        })
    }

    fn window_range(&self, count: &Count) -> Result<Option<WindowRange>, Error> {
        let Some(range) = &self.windows else { return Ok(None) };
        let range = WindowRange::read(range, count).map_err(Error::Request)?;
        Ok(Some(WindowRange { is_filled: self.is_filled, ..range }))
    }

    fn split_field(&self, entity: &Entity, count: CountId, name: &str) -> Result<FieldId, Error> {
        let fields = &entity.count(count).split;
        let named = |field: &&FieldId| entity.field(**field).name == name;
        fields.iter().find(named).copied().ok_or_else(|| {
            let what = format!("`{name}` is not a `split` field of the count `{}`", self.count);
            unknown(what, name, fields.iter().map(|field| entity.field(*field).name.as_str()))
        })
    }
}
