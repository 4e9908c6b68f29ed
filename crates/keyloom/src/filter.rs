//! Filters by tags, facets, ranges, presence and words, in the names of the model.

mod stored;

use std::ops::{Bound, RangeBounds};

use keyloom_model::{Entity, Field, FieldId};
use keyloom_query as query;
use keyloom_query::{Filters, RequestError, ValueRange};
use keyloom_value::{Number, Value};

use crate::error::Error;
use crate::unknown::unknown;

/// What an entity must have to be on a page: see [`ListQuery::filter`](crate::ListQuery::filter).
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Filter, Value};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.task]\nfields.name = \"text\"\nfields.tags = \"tags = {}\"\n\
/// #     list.all = {}";
/// # pollster::block_on(async {
/// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
/// for (name, tags) in [
///     ("cook", json!({ "priority": "high" })),
///     ("mow", json!({ "deadline": "Friday", "project": "garden" })),
///     ("read", json!({})),
/// ] {
///     db.create("task", &json!({ "name": name, "tags": tags })).await?;
/// }
/// let urgent = Filter::any([Filter::tag("priority", "high"), Filter::has_tag("deadline")]);
/// let indoors = Filter::tag("project", "garden").not();
/// let page = db.list("task", "all").filter(Filter::all([urgent, indoors])).read().await?;
/// assert_eq!(page.items.len(), 1);
/// assert_eq!(page.items[0].get("name"), Some(&Value::from("cook")));
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Tag { field: Option<String>, key: String, value: Option<String> },
    Facet { field: String, value: Value },
    Range { field: String, lower: Bound<Value>, upper: Bound<Value> },
    Present { field: String },
    Search { name: String, text: String },
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
}

impl Filter {
    /// Entities with a tag.
    ///
    /// [`Filter`] has an example.
    pub fn tag(key: impl Into<String>, value: impl Into<String>) -> Filter {
        Filter(Kind::Tag { field: None, key: key.into(), value: Some(value.into()) })
    }

    /// Entities with a tag of this key, whatever its value.
    ///
    /// [`Filter`] has an example.
    pub fn has_tag(key: impl Into<String>) -> Filter {
        Filter(Kind::Tag { field: None, key: key.into(), value: None })
    }

    /// Entities with a value of a facet of the list.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Filter};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.car]\nfields.color = \"text\"\nfields.doors = \"int\"\n\
    /// #     list.all = { facets = [\"color\", \"doors\"] }";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// for (color, doors) in [("red", 3), ("red", 5), ("green", 5)] {
    ///     db.create("car", &json!({ "color": color, "doors": doors })).await?;
    /// }
    /// let red_or_small = Filter::any([Filter::facet("color", "red"), Filter::facet("doors", 3)]);
    /// assert_eq!(db.list("car", "all").filter(red_or_small).total().await?.count, 2);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn facet(field: impl Into<String>, value: impl Into<Value>) -> Filter {
        Filter(Kind::Facet { field: field.into(), value: value.into() })
    }

    /// Entities with a number or time within a range, in a field that the entity has in `filters`:
    /// `Filter::range("price", 10..=20)`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Filter};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.product]\nfilters = [\"price\"]\nfields.price = \"int\"\n\
    /// #     list.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// for price in [5, 10, 15] {
    ///     db.create("product", &json!({ "price": price })).await?;
    /// }
    /// let cheap = Filter::range("price", ..10);
    /// assert_eq!(db.list("product", "all").filter(cheap.clone()).total().await?.count, 1);
    /// assert_eq!(db.list("product", "all").filter(cheap.not()).total().await?.count, 2);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn range<V: Into<Value> + Clone>(
        field: impl Into<String>,
        range: impl RangeBounds<V>,
    ) -> Filter {
        let bound = |bound: Bound<&V>| bound.map(|value| value.clone().into());
        let (lower, upper) = (bound(range.start_bound()), bound(range.end_bound()));
        Filter(Kind::Range { field: field.into(), lower, upper })
    }

    /// Entities with any value of a field that the entity has in `filters`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Filter};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfilters = [\"owner\"]\nfields.owner = \"text?\"\n\
    /// #     list.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("task", &json!({ "owner": "ann" })).await?;
    /// db.create("task", &json!({})).await?;
    /// let free = db.list("task", "all").filter(Filter::present("owner").not());
    /// assert_eq!(free.total().await?.count, 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn present(field: impl Into<String>) -> Filter {
        Filter(Kind::Present { field: field.into() })
    }

    /// Entities that a search of the model finds by a text: those that have all its words. The last word
    /// may be the beginning of one, unless a space follows it. Everything passes a text without words.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Filter};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.article]\nfields.title = \"text\"\n\
    /// #     search.text = { fields = [\"title\"], language = \"english\" }\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// for title in ["Fixing the roof", "Roofs of Paris"] {
    ///     db.create("article", &json!({ "title": title })).await?;
    /// }
    /// let found = |text| db.list("article", "all").filter(Filter::search("text", text));
    /// assert_eq!(found("roof").total().await?.count, 2);
    /// assert_eq!(found("the roo").total().await?.count, 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn search(name: impl Into<String>, text: impl Into<String>) -> Filter {
        Filter(Kind::Search { name: name.into(), text: text.into() })
    }

    /// Entities that pass all of these.
    ///
    /// [`Filter`] has an example.
    pub fn all(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter(Kind::All(filters.into_iter().collect()))
    }

    /// Entities that pass at least one of these.
    ///
    /// [`Filter`] has an example.
    pub fn any(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter(Kind::Any(filters.into_iter().collect()))
    }

    /// Entities that do not pass this.
    ///
    /// [`Filter`] has an example.
    #[expect(clippy::should_implement_trait, reason = "it reads as the words do, after a filter")]
    #[must_use]
    pub fn not(self) -> Filter {
        Filter(Kind::Not(Box::new(self)))
    }

    /// Looks for the tag in the field of this name, for entities with several fields of tags.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Filter};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.labels = \"tags = {}\"\n\
    /// #     fields.skills = \"tags = {}\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("task", &json!({ "skills": { "french": "fluent" } })).await?;
    /// let french = Filter::has_tag("french").in_field("skills");
    /// assert_eq!(db.list("task", "all").filter(french).total().await?.count, 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    #[must_use]
    pub fn in_field(mut self, name: &str) -> Filter {
        if let Kind::Tag { field, .. } = &mut self.0 {
            *field = Some(name.to_owned());
        }
        self
    }

    /// Whether the filter tests only one facet.
    pub(crate) fn is_by_facet(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Facet { field, .. } | Kind::Range { field, .. } | Kind::Present { field } => {
                field == name
            }
            Kind::Tag { .. } | Kind::Search { .. } => false,
            Kind::All(filters) | Kind::Any(filters) => {
                !filters.is_empty() && filters.iter().all(|filter| filter.is_by_facet(name))
            }
            Kind::Not(filter) => filter.is_by_facet(name),
        }
    }

    fn resolve(&self, filters: Filters<'_>) -> Result<query::Filter, Error> {
        let all = |parts: &[Filter]| {
            parts.iter().map(|part| part.resolve(filters)).collect::<Result<Vec<_>, Error>>()
        };
        let entity = filters.entity;
        let resolved = match &self.0 {
            Kind::Tag { field, key, value } => {
                let field = tag_field(entity, field.as_deref())?;
                match value {
                    Some(value) => filters.tag(field, key, value),
                    None => filters.tag_key(field, key),
                }
            }
            Kind::Facet { field: name, value } => {
                let field = field(entity, name)?;
                filters.facet(field, entity.field(field).of.to_stored(value))
            }
            Kind::Range { field: name, lower, upper } => {
                let field = field(entity, name)?;
                let [lower, upper] = [lower, upper].map(|bound| number(entity.field(field), bound));
                filters.range(field, ValueRange { lower: lower?, upper: upper? })
            }
            Kind::Present { field: name } => filters.present(field(entity, name)?),
            Kind::Search { name, text } => {
                let search = entity.find_search(name).ok_or_else(|| no_search(entity, name))?;
                filters.search(search, text)
            }
            Kind::All(parts) => filters.all(all(parts)?),
            Kind::Any(parts) => filters.any(all(parts)?),
            Kind::Not(part) => Ok(part.resolve(filters)?.not()),
        };
        Ok(resolved.map_err(query::Error::from)?)
    }
}

/// Resolves filters that must all hold against the model. None if everything passes them.
pub(crate) fn resolve_all(
    all: &[Filter],
    filters: Filters<'_>,
) -> Result<Option<query::Filter>, Error> {
    let parts = all.iter().map(|filter| filter.resolve(filters));
    let parts = parts.collect::<Result<_, Error>>()?;
    Ok(filters.all(parts).map_err(query::Error::from)?.if_selective())
}

/// Returns the field that holds the tags.
pub(crate) fn tag_field(entity: &Entity, name: Option<&str>) -> Result<FieldId, Error> {
    if let Some(name) = name {
        return field(entity, name);
    }
    let fields: Vec<FieldId> = entity.tag_fields().collect();
    match fields[..] {
        [field] => Ok(field),
        [] => Err(Error::Unknown {
            what: format!("`{}` has no tags", entity.name),
            help: Some("declare a field of the type `tags`".to_owned()),
        }),
        _ => Err(Error::Unknown {
            what: format!("`{}` has several fields with tags", entity.name),
            help: Some("say in which one to look, with `in_field`".to_owned()),
        }),
    }
}

fn field(entity: &Entity, name: &str) -> Result<FieldId, Error> {
    entity.find_field(name).ok_or_else(|| no_field(entity, name))
}

/// A bound of a field, as it is stored.
fn number(field: &Field, bound: &Bound<Value>) -> Result<Bound<Number>, Error> {
    let number = |value: &Value| field.of.to_stored(value).as_n().copied();
    let number = match bound {
        Bound::Included(value) => number(value).map(Bound::Included),
        Bound::Excluded(value) => number(value).map(Bound::Excluded),
        Bound::Unbounded => Some(Bound::Unbounded),
    };
    number.ok_or_else(|| {
        let (field, expected) = (field.name.clone(), field.of.name());
        query::Error::from(RequestError::Value { field, expected }).into()
    })
}

fn no_search(entity: &Entity, name: &str) -> Error {
    let what = format!("`{}` has no search `{name}`", entity.name);
    unknown(what, name, entity.searches.iter().map(|search| search.name.as_str()))
}

fn no_field(entity: &Entity, name: &str) -> Error {
    let what = format!("`{}` has no field `{name}`", entity.name);
    unknown(what, name, entity.fields.iter().map(|field| field.name.as_str()))
}
