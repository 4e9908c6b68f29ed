//! Trees: entities with the targets of their references, with their children, and with lists and counts
//! of those that refer to them, recursively. Each step is one call, and each entity is read once.

mod fields;
mod grow;
mod referring;
mod with;

use std::collections::BTreeMap;

use keyloom_value::{Item, Name, Value};

use crate::Record;
use crate::answer::Answer;
use crate::db::Db;
use crate::document::item_to_json;
use crate::error::Error;
use crate::schema::Schema;
use crate::unknown::find_entity;
pub use fields::Fields;
use grow::Grower;
use with::With;

/// An entity with the requested related entities.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::Db;
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.person]
///     fields.name = "text"
///     [entity.task]
///     fields.name  = "text"
///     fields.owner = "ref person"
/// "#;
/// let db = Db::open(model, store).await?;
/// let ann = db.create("person", &json!({ "name": "Ann" })).await?;
/// let task = db.create("task", &json!({ "name": "cook", "owner": ann.id() })).await?;
/// let tree = db.tree("task", task.id(), "owner", None).await?.expect("it exists");
/// let owner = tree.refs["owner"].as_ref().expect("it exists");
/// assert_eq!(owner.record.id(), ann.id());
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The entity.
    pub record: Record,
    /// The targets of its references, by field; none if the field is absent or its target invisible.
    pub refs: BTreeMap<String, Option<Tree>>,
    /// Its children, by the name of their kind.
    pub children: BTreeMap<String, Branch>,
    /// Lists of those that refer to it, by the name of the step.
    pub lists: BTreeMap<String, Branch>,
    /// Counts of those that refer to it, by the name of the step: [`Counted::to_item`](crate::Counted::to_item).
    pub counts: BTreeMap<String, Item>,
}

/// The first children of one kind, or entities of a list.
///
/// [`Tree::to_json`] has an example.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Ordered by id, or as the list is.
    pub items: Vec<Tree>,
    /// The cursor of the next ones, for [`Db::children`] of this kind or for [`Db::list`] by this entity;
    /// absent if there are no more.
    pub next: Option<String>,
}

impl Tree {
    fn new(record: Record) -> Tree {
        let (children, lists) = (BTreeMap::new(), BTreeMap::new());
        Tree { record, refs: BTreeMap::new(), children, lists, counts: BTreeMap::new() }
    }

    /// Returns the JSON of [`Record::to_json`] with the related entities under `with`, by name: targets as
    /// they are, children and lists as `{"items": [...], "next": "..."}`, counts as `{"count": 2}`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.project]\n[entity.task]\nparent = \"project\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let home = db.create("project", &json!({})).await?;
    /// let task = db.create("task", &json!({ "project": home.id() })).await?;
    /// let tree = db.tree("project", home.id(), "tasks", None).await?.expect("it exists");
    /// assert_eq!(tree.children["tasks"].items[0].record, task);
    /// let json: serde_json::Value = serde_json::from_str(&tree.to_json()).expect("it is JSON");
    /// assert_eq!(json["with"]["tasks"]["items"][0]["id"], task.id());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn to_json(&self) -> String {
        item_to_json(&self.shown(Fields::WHOLE))
    }

    /// Returns the same JSON with these fields only.
    ///
    /// [`Db::fields`] has an example.
    pub fn to_json_of(&self, fields: &Fields) -> String {
        item_to_json(&self.shown(fields))
    }

    fn shown(&self, fields: &Fields) -> Item {
        let mut item = self.record.shown_of(fields);
        if self.is_leaf() {
            return item;
        }
        let refs = self
            .refs
            .iter()
            .filter_map(|(name, tree)| Some((name, tree.as_ref()?.shown(fields.after(name)))));
        let branches =
            self.branches().map(|(name, branch)| (name, branch.shown(fields.after(name))));
        let counts = self.counts.iter().map(|(name, count)| (name, count.clone()));
        let with = refs
            .chain(branches)
            .chain(counts)
            .map(|(name, item)| (Name::from(name), Value::M(item)));
        item.insert("with", Value::M(with.collect()));
        item
    }

    fn is_leaf(&self) -> bool {
        self.refs.is_empty() && self.counts.is_empty() && self.branches().next().is_none()
    }

    fn branches(&self) -> impl Iterator<Item = (&String, &Branch)> {
        self.children.iter().chain(&self.lists)
    }

    /// The number of entities in it.
    fn size(&self) -> usize {
        let refs = self.refs.values().flatten();
        let children = self.branches().flat_map(|(_, branch)| &branch.items);
        1 + refs.chain(children).map(Tree::size).sum::<usize>()
    }
}

impl Branch {
    fn shown(&self, fields: &Fields) -> Item {
        let items = Value::L(self.items.iter().map(|tree| Value::M(tree.shown(fields))).collect());
        let mut item = Item::from([("items", items)]);
        if let Some(next) = &self.next {
            item.insert("next", next.as_str());
        }
        item
    }
}

impl Db {
    /// Returns an entity with related entities; none if it does not exist. `with` is a list of paths such
    /// as `menu_items.recipe,menu_items.menu`: each step is a reference by its field, the children of one
    /// kind by the last part of their path, or a declared list or count of those that refer to the entity
    /// by one field, as the last step of a path if it is a count: `Model::related` has the names. Each
    /// entity has at most `limit` children of each kind [default: 100] and entities of each list [default:
    /// 10].
    ///
    /// The tree is of one moment, if the store has snapshots ([`Db::at_one_moment`]). One read returns the
    /// entity and its children of one kind; then there is one for every 100 targets of a step, one for
    /// each further parent, one for each count of an entity (one for each of its shards), and one of an
    /// index with one batch for each list of an entity.
    ///
    /// [`Tree`] has an example of a reference, [`Tree::to_json`] one of children.
    ///
    /// # Errors
    ///
    /// If an entity or step does not exist in the model; [`Error::TreeTooLarge`] if there are more than
    /// 5,000 entities, lists and counters together; [`Error::Building`] if a list or a count is not ready;
    /// if the store fails.
    pub fn tree<'a>(
        &'a self,
        entity: &'a str,
        id: &'a str,
        with: &'a str,
        limit: Option<u32>,
    ) -> Answer<'a, Option<Tree>> {
        Box::pin(TreeQuery { db: self, entity, with, limit }.tree(id))
    }

    /// Returns the fields to show of entities of one kind and of those that `with` adds to them
    /// ([`Record::to_json_of`], [`Tree::to_json_of`]): `name,price,author.name` are two fields of each entity
    /// and one of its author. An entity that no field is named of is shown whole. They are read whole: the
    /// cost is the same.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.person]\nid = \"given\"\nfields.name = \"text\"\n\
    /// #     fields.age = \"int\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("person", &json!({ "id": "ann", "name": "Ann", "age": 40 })).await?;
    /// let fields = db.fields("person", "", "name")?;
    /// let ann = db.get("person", "ann").await?.expect("she exists");
    /// let version = ann.version();
    /// let json = format!(r#"{{"id":"ann","name":"Ann","version":"{version}"}}"#);
    /// assert_eq!(ann.to_json_of(&fields), json);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is empty, a field does not exist in the model, or a step is not in `with`.
    pub fn fields(&self, entity: &str, with: &str, fields: &str) -> Result<Fields, Error> {
        let schema = self.shared.schema();
        let with = TreeQuery { db: self, entity, with, limit: None }.parse(&schema)?;
        Fields::parse(schema.model(), &with, fields)
    }

    /// Returns the trees of entities of one kind that were read before, such as a page of a list or of
    /// children.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.person]\nid = \"given\"\nfields.name = \"text\"\n[entity.task]\n\
    /// #     id = \"given\"\nfields.owner = \"ref person\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("person", &json!({ "id": "ann", "name": "Ann" })).await?;
    /// db.create("task", &json!({ "id": "cook", "owner": "ann" })).await?;
    /// let page = db.list("task", "all").read().await?;
    /// let trees = db.trees("task", page.items, "owner", None).await?;
    /// let owner = trees[0].refs["owner"].as_ref().expect("it exists");
    /// assert_eq!(owner.record.id(), "ann");
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Db::tree`]; and if a record is of another kind.
    pub fn trees<'a>(
        &'a self,
        entity: &'a str,
        records: Vec<Record>,
        with: &'a str,
        limit: Option<u32>,
    ) -> Answer<'a, Vec<Tree>> {
        Box::pin(TreeQuery { db: self, entity, with, limit }.trees(records))
    }
}

/// A query of the entities that are related to entities of one kind.
pub(crate) struct TreeQuery<'q> {
    pub(crate) db: &'q Db,
    pub(crate) entity: &'q str,
    pub(crate) with: &'q str,
    pub(crate) limit: Option<u32>,
}

impl TreeQuery<'_> {
    async fn tree(self, id: &str) -> Result<Option<Tree>, Error> {
        let schema = self.db.shared.schema();
        let with = self.parse(&schema)?;
        let moment = self.db.at_one_moment().await?;
        let mut grower = Grower::new(&moment, &schema, self.limit);
        let Some(root) = grower.root(id, &with).await? else { return Ok(None) };
        Ok(grower.grow(vec![root], &with).await?.pop())
    }

    async fn trees(self, records: Vec<Record>) -> Result<Vec<Tree>, Error> {
        let schema = self.db.shared.schema();
        let (entity, with) = (self.entity, self.parse(&schema)?);
        if let Some(other) = records.iter().find(|record| record.entity() != entity) {
            let what = format!("Expected a `{entity}`, found a `{}`", other.entity());
            let help = Some("request each kind separately".to_owned());
            return Err(Error::Unknown { what, help });
        }
        Grower::new(self.db, &schema, self.limit).grow(records, &with).await
    }

    /// Returns the trees of the entities with these ids; none for those that are not visible.
    pub(crate) async fn of_ids(self, ids: &[String]) -> Result<Vec<Option<Tree>>, Error> {
        let schema = self.db.shared.schema();
        let with = self.parse(&schema)?;
        let mut grower = Grower::new(self.db, &schema, self.limit);
        let found = grower.fetch(with.entity, ids.iter().cloned().collect()).await?;
        let grown = grower.grow(found, &with).await?.into_iter();
        let grown: BTreeMap<String, Tree> =
            grown.map(|tree| (tree.record.id().to_owned(), tree)).collect();
        Ok(ids.iter().map(|id| grown.get(id).cloned()).collect())
    }

    fn parse(&self, schema: &Schema) -> Result<With, Error> {
        let (entity, _) = find_entity(schema, self.entity)?;
        With::parse(schema.model(), entity, self.with)
    }
}
