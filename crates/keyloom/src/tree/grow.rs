//! Grows trees from entities, step by step: the targets of all entities of a step are fetched together,
//! and nothing is read twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyloom_model::{CountId, EntityId, EntityKey, ListId, Related};
use keyloom_query::{Children, FamilyRequest, Reader};
use keyloom_store::yield_point;
use keyloom_value::{Item, Value};

use super::referring::Referring;
use super::with::With;
use super::{Branch, Tree};
use crate::Record;
use crate::access::check_children;
use crate::db::Db;
use crate::error::Error;
use crate::read::records;
use crate::schema::Schema;

/// The default number of children of each parent.
const LIMIT: u32 = 100;
/// The maximum number of entities that one call returns, with the lists and counters that it reads.
const ENTITIES_MAX: usize = 5000;

/// The state that the steps of one call share.
pub(super) struct Grower<'a> {
    pub(super) db: &'a Db,
    pub(super) schema: &'a Arc<Schema>,
    reader: Reader<'a>,
    /// How many children, or entities of a list, each entity has.
    pub(super) limit: Option<u32>,
    /// How many more entities, lists and counters are allowed.
    left: usize,
    /// Everything that was read; none if it is invisible.
    met: BTreeMap<Key, Option<Record>>,
    /// First children of one kind, by their parent.
    children: BTreeMap<(Key, EntityId), First>,
    /// First entities of lists, by whom they refer to.
    pub(super) lists: BTreeMap<(Key, (EntityId, ListId)), First>,
    /// Counts, by whom the counted refer to.
    pub(super) counts: BTreeMap<(Key, (EntityId, CountId)), Item>,
}

/// An entity of this tenant, or a shared one.
pub(super) type Key = (EntityId, String);

/// First children of one kind, or entities of a list.
#[derive(Clone, Default)]
pub(super) struct First {
    pub(super) items: Vec<Record>,
    pub(super) next: Option<String>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(db: &'a Db, schema: &'a Arc<Schema>, limit: Option<u32>) -> Grower<'a> {
        Grower {
            db,
            schema,
            reader: db.reader(schema),
            limit,
            left: ENTITIES_MAX,
            met: BTreeMap::new(),
            children: BTreeMap::new(),
            lists: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Reads the root, and the first kind of its children in the same read.
    pub(super) async fn root(&mut self, id: &str, with: &With) -> Result<Option<Record>, Error> {
        let scope = self.db.scope(self.schema);
        scope.check_readable(with.entity)?;
        let key = scope.key(with.entity, id)?;
        let Some(kind) = with.first_children() else {
            let row = self.reader.get(&key).await?;
            return self.db.visible(self.schema, row).await;
        };
        self.check_children(kind)?;
        let request = self.children_request(key, kind);
        let family = self.reader.family(&request, &self.db.cursors()).await?;
        let Some(family) = family else { return Ok(None) };
        let items = records(self.schema, family.children).await;
        let first = First { items, next: family.next };
        self.children.insert(((with.entity, id.to_owned()), kind), first);
        self.db.visible(self.schema, Some(family.parent)).await
    }

    /// Returns the trees of entities.
    pub(super) async fn grow(
        &mut self,
        records: Vec<Record>,
        with: &With,
    ) -> Result<Vec<Tree>, Error> {
        self.spend(records.len())?;
        for record in &records {
            let key = (with.entity, record.id().to_owned());
            self.met.entry(key).or_insert_with(|| Some(record.clone()));
        }
        let mut trees: Vec<Tree> = records.into_iter().map(Tree::new).collect();
        for (name, step) in &with.steps {
            match step.related {
                Related::Reference(_) => self.grow_refs(&mut trees, name, &step.with).await?,
                Related::Children(_) => {
                    self.grow_children(&mut trees, name, with, &step.with).await?;
                }
                Related::List(entity, list) => {
                    let of = Referring { name, target: with.entity, of: (entity, list) };
                    self.grow_lists(&mut trees, of, &step.with).await?;
                }
                Related::Count(entity, count) => {
                    let of = Referring { name, target: with.entity, of: (entity, count) };
                    self.grow_counts(&mut trees, of).await?;
                }
            }
        }
        Ok(trees)
    }

    async fn grow_refs(
        &mut self,
        trees: &mut [Tree],
        name: &str,
        with: &With,
    ) -> Result<(), Error> {
        let target = |tree: &Tree| tree.record.get(name).and_then(Value::as_s).map(str::to_owned);
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for id in trees.iter().filter_map(target) {
            *uses.entry(id).or_default() += 1;
        }
        let found = self.fetch(with.entity, uses.keys().cloned().collect()).await?;
        let grown = Box::pin(self.grow(found, with)).await?.into_iter();
        let grown: BTreeMap<String, Tree> =
            grown.map(|tree| (tree.record.id().to_owned(), tree)).collect();
        // A shared target is repeated in each tree.
        let more = |id: &String| uses.get(id).map_or(0, |uses| uses - 1);
        self.spend(grown.iter().map(|(id, tree)| more(id) * tree.size()).sum())?;
        for tree in trees {
            yield_point().await;
            let target = target(tree).and_then(|id| grown.get(&id).cloned());
            tree.refs.insert(name.to_owned(), target);
        }
        Ok(())
    }

    async fn grow_children(
        &mut self,
        trees: &mut [Tree],
        name: &str,
        parents: &With,
        with: &With,
    ) -> Result<(), Error> {
        let (mut items, mut ends) = (vec![], vec![]);
        for tree in trees.iter() {
            let parent = (parents.entity, tree.record.id().to_owned());
            let page = match self.shows_children(&tree.record, with.entity).await? {
                true => self.first_children(parent, with.entity).await?,
                false => First::default(),
            };
            ends.push((page.items.len(), page.next));
            items.extend(page.items);
            self.check(items.len())?;
        }
        let mut grown = Box::pin(self.grow(items, with)).await?.into_iter();
        for (tree, (count, next)) in trees.iter_mut().zip(ends) {
            let items = grown.by_ref().take(count).collect();
            tree.children.insert(name.to_owned(), Branch { items, next });
        }
        Ok(())
    }

    /// Reads the visible entities among these ids.
    pub(super) async fn fetch(
        &mut self,
        entity: EntityId,
        ids: BTreeSet<String>,
    ) -> Result<Vec<Record>, Error> {
        self.check(ids.len())?;
        self.db.scope(self.schema).check_readable(entity)?;
        let keys: Vec<Key> = ids.into_iter().map(|id| (entity, id)).collect();
        let unmet: Vec<&Key> = keys.iter().filter(|key| !self.met.contains_key(key)).collect();
        let asked = unmet.iter().map(|(_, id)| self.db.scope(self.schema).key(entity, id.as_str()));
        let asked = asked.collect::<Result<Vec<_>, Error>>()?;
        let rows = self.reader.get_many(&asked).await?;
        let mut met = vec![];
        for (key, row) in unmet.into_iter().zip(rows) {
            yield_point().await;
            met.push((key.clone(), self.db.visible(self.schema, row).await?));
        }
        self.met.extend(met);
        Ok(keys.iter().filter_map(|key| self.met.get(key)?.clone()).collect())
    }

    async fn first_children(&mut self, parent: Key, kind: EntityId) -> Result<First, Error> {
        self.check_children(kind)?;
        let place = (parent, kind);
        if let Some(page) = self.children.get(&place) {
            return Ok(page.clone());
        }
        let (entity, id) = &place.0;
        let parent = self.db.scope(self.schema).key(*entity, id.as_str())?;
        let request = self.children_request(parent, kind);
        let page = self.reader.first_children(&request, &self.db.cursors()).await?;
        let items = records(self.schema, page.children).await;
        let first = First { items, next: page.next };
        self.children.insert(place, first.clone());
        Ok(first)
    }

    /// Whether the user may read the children of an entity. It may be from a list with more readers than
    /// its kind has.
    async fn shows_children(&self, parent: &Record, kind: EntityId) -> Result<bool, Error> {
        self.check_children(kind)?;
        match self.db.rules(self.schema) {
            Some(rules) => rules.shows_children(kind, parent.image()).await,
            None => Ok(true),
        }
    }

    fn check_children(&self, kind: EntityId) -> Result<(), Error> {
        check_children(self.db.user.as_deref(), self.schema.model().entity(kind))
    }

    fn children_request(&self, parent: EntityKey, kind: EntityId) -> FamilyRequest {
        let limit = self.limit.unwrap_or(LIMIT);
        FamilyRequest { parent, children: Children::Of(kind), limit }
    }

    /// Fails if so many more entities exceed the limit.
    pub(super) fn check(&self, entities: usize) -> Result<(), Error> {
        match entities <= self.left {
            true => Ok(()),
            false => Err(Error::TreeTooLarge { entities_max: ENTITIES_MAX }),
        }
    }

    pub(super) fn spend(&mut self, entities: usize) -> Result<(), Error> {
        self.check(entities)?;
        self.left -= entities;
        Ok(())
    }
}
