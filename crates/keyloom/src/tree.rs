//! Entities with what they refer to and what has them as parents, and so on from there: read in as
//! few calls as there are steps, each entity once.

mod grow;
mod with;

use std::collections::BTreeMap;

use keyloom_value::{Item, Name, Value};

use crate::Record;
use crate::answer::Answer;
use crate::db::{Db, find_entity};
use crate::document::item_to_json;
use crate::error::Error;
use crate::schema::Schema;
use grow::Grower;
use with::With;

/// How many children come with each parent if nothing is said.
const LIMIT: u32 = 100;

/// An entity with what was asked for to come with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The entity.
    pub record: Record,
    /// What it refers to, by field; none if it refers to nothing there, or to nothing that is seen.
    pub refs: BTreeMap<String, Option<Tree>>,
    /// Its children, by the name of their kind.
    pub children: BTreeMap<String, Branch>,
}

/// The first children of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// In order of their ids.
    pub items: Vec<Tree>,
    /// Where the next children begin, for [`Db::children`] of this kind; absent if nothing follows.
    pub next: Option<String>,
}

impl Tree {
    fn new(record: Record) -> Tree {
        Tree { record, refs: BTreeMap::new(), children: BTreeMap::new() }
    }

    /// The entity as [`Record::to_json`] has it, and under `with` everything that comes with it, by
    /// name: what it refers to as it is, children as `{"items": [...], "next": "..."}`.
    pub fn to_json(&self) -> String {
        item_to_json(&self.shown())
    }

    fn shown(&self) -> Item {
        let mut item = self.record.shown();
        if self.refs.is_empty() && self.children.is_empty() {
            return item;
        }
        let refs = self.refs.iter().filter_map(|(name, tree)| Some((name, tree.as_ref()?.shown())));
        let children = self.children.iter().map(|(name, branch)| (name, branch.shown()));
        let with = refs.chain(children).map(|(name, item)| (Name::from(name), Value::M(item)));
        item.insert("with", Value::M(with.collect()));
        item
    }

    /// How many entities it has.
    fn size(&self) -> usize {
        let refs = self.refs.values().flatten();
        let children = self.children.values().flat_map(|branch| &branch.items);
        1 + refs.chain(children).map(Tree::size).sum::<usize>()
    }
}

impl Branch {
    fn shown(&self) -> Item {
        let items = Value::L(self.items.iter().map(|tree| Value::M(tree.shown())).collect());
        let mut item = Item::from([("items", items)]);
        if let Some(next) = &self.next {
            item.insert("next", next.as_str());
        }
        item
    }
}

impl Db {
    /// The entity with an id and what comes with it; none if it is not there. `with` is a list of
    /// paths such as `menu_items.recipe,menu_items.menu`: each step is a field that refers, or the
    /// children of one kind by the last part of their path (`Model::children`). Of each kind of
    /// children come `limit` with each parent, or 100.
    ///
    /// All of it is of one moment, where the store can hold one ([`Db::at_one_moment`]). One read
    /// brings the entity and its children of one kind; then one for every 100 entities
    /// that a step refers to, and one for each further parent.
    ///
    /// # Errors
    ///
    /// If there is no such kind of entity or step; [`Error::TreeTooLarge`] if more than 5,000
    /// entities come with it; if the store fails.
    pub fn tree<'a>(
        &'a self,
        entity: &'a str,
        id: &'a str,
        with: &'a str,
        limit: Option<u32>,
    ) -> Answer<'a, Option<Tree>> {
        Box::pin(TreeQuery { db: self, entity, with, limit }.tree(id))
    }

    /// Entities of one kind that were read, as a page of a list or of children has them, each with
    /// what comes with it as in [`Db::tree`].
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

/// What comes with entities of one kind.
struct TreeQuery<'q> {
    db: &'q Db,
    entity: &'q str,
    with: &'q str,
    limit: Option<u32>,
}

impl TreeQuery<'_> {
    async fn tree(self, id: &str) -> Result<Option<Tree>, Error> {
        let schema = self.db.shared.schema();
        let with = self.parse(&schema)?;
        let moment = self.db.at_one_moment().await?;
        let mut grower = Grower::new(&moment, &schema, self.limit.unwrap_or(LIMIT));
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
        Grower::new(self.db, &schema, self.limit.unwrap_or(LIMIT)).grow(records, &with).await
    }

    fn parse(&self, schema: &Schema) -> Result<With, Error> {
        let (entity, _) = find_entity(schema, self.entity)?;
        With::parse(schema.model(), entity, self.with)
    }
}
