//! The tags and facet values of entities, and how many entities have each: for selection lists,
//! autocompletion, and facet counts.

use keyloom_query::{Counted, ListRequest, Resume, ValuePage};

use crate::answer::Answer;
use crate::error::Error;
use crate::filter::tag_field;
use crate::read::{ListQuery, ReadFor};
use crate::schema::Schema;
use crate::unknown::{find_entity, unknown};

/// Which tags [`ListQuery::tags`] returns; keys by default.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, FindTags};
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
/// db.create("task", &json!({ "name": "cook", "tags": { "room": "kitchen" } })).await?;
/// let rooms = FindTags { key: Some("room".to_owned()), ..FindTags::default() };
/// let found = db.list("task", "all").tags(&rooms).await?;
/// assert_eq!(found.counts[0].count, 1);
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindTags {
    /// The field with the tags, if the entity has several.
    pub field: Option<String>,
    /// Values of this key; without it, keys.
    pub key: Option<String>,
    /// The prefix of the keys or values.
    pub prefix: String,
}

impl ListQuery {
    /// Returns the tag keys, or the values of a key, of entities in the list that pass the filters, in
    /// byte order, each with the number of entities. At most [`limit`](ListQuery::limit) of them; continue
    /// [`after`](ListQuery::after) the cursor.
    ///
    /// [`FindTags`] has an example.
    ///
    /// # Errors
    ///
    /// If the entity has no such tags, a range is given, or the cursor belongs to another query; and as
    /// [`ListQuery::read`].
    pub fn tags<'a>(&'a self, find: &'a FindTags) -> Answer<'a, ValuePage> {
        Box::pin(async move {
            self.count_values(|schema| {
                let (_, entity) = find_entity(schema, &self.entity)?;
                let (field, prefix) =
                    (tag_field(entity, find.field.as_deref())?, find.prefix.clone());
                Ok(match find.key.clone() {
                    Some(key) => Counted::TagValues(field, key, prefix),
                    None => Counted::TagKeys(field, prefix),
                })
            })
            .await
        })
    }

    /// Returns the values of a facet of entities in the list that pass the filters, each with the number
    /// of entities. Filters by this facet itself are ignored: they are the current selection, and this
    /// returns what can be selected.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.car]\nfields.color = \"text\"\nlist.all = { facets = [\"color\"] }";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// for color in ["red", "green", "red"] {
    ///     db.create("car", &json!({ "color": color })).await?;
    /// }
    /// // The selection of a color does not limit what can be selected instead.
    /// let cars = db.list("car", "all").facet("color", ["red"]);
    /// let colors = cars.facet_values("color").await?;
    /// let counts: Vec<u64> = colors.counts.iter().map(|value| value.count).collect();
    /// assert_eq!(counts, [1, 2]);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the list has no such facet; and as [`ListQuery::tags`].
    pub fn facet_values<'a>(&'a self, field: &'a str) -> Answer<'a, ValuePage> {
        Box::pin(async move {
            self.without_field(field)
                .count_values(|schema| {
                    let (_, entity) = find_entity(schema, &self.entity)?;
                    let facets = entity.list(self.find_list(entity)?).facets.iter();
                    let mut facets =
                        facets.map(|facet| (*facet, entity.field(*facet).name.as_str()));
                    let found = facets.clone().find(|(_, name)| *name == field);
                    let (facet, _) = found.ok_or_else(|| {
                        let what = format!("The list `{}` has no facet `{field}`", self.list);
                        unknown(what, field, facets.by_ref().map(|(_, name)| name))
                    })?;
                    Ok(Counted::Facet(facet))
                })
                .await
        })
    }

    async fn count_values(
        &self,
        counted: impl Fn(&Schema) -> Result<Counted, Error>,
    ) -> Result<ValuePage, Error> {
        let is_built = |schema: &Schema, request: &ListRequest| {
            Ok(counted(schema)?.is_built(&schema.layouts.current, request))
        };
        let (schema, request) = self.ready(ReadFor::Counting, is_built).await?;
        let counted = counted(&schema)?;
        let db = self.db_for(&schema, &request).await?;
        let cursors = self.db.cursors();
        let resume = Resume { cursors: &cursors, cursor: self.after.as_deref() };
        Ok(db.reader(&schema).count_values(&request, &counted, resume).await?)
    }
}
