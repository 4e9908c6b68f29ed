//! Lists and counts of those that refer to the entities of a tree: one read of each for each entity, some
//! of them at a time.

use futures_util::future::try_join_all;
use keyloom_model::{CountId, Entity, EntityId, FieldId, ListId};
use keyloom_query::Budget;
use keyloom_store::yield_point;
use keyloom_value::Item;

use super::grow::{First, Grower, Key};
use super::with::With;
use super::{Branch, Tree};
use crate::answer::Answer;
use crate::error::{Error, TenantProblem};

/// How many reads are made at a time.
const READS_AT_ONCE: usize = 25;
/// The default number of entities of each list.
const LIMIT: u32 = 10;
/// How much is read at most of one list, apart from what is returned: a list whose first entities are
/// hidden or expired is cut short, and has a cursor to continue with.
const HIDDEN_ROWS_MAX: u64 = 100;

/// A list or a count of the entities that refer to others.
#[derive(Clone, Copy)]
pub(super) struct Referring<'s, I> {
    /// The name of the step.
    pub(super) name: &'s str,
    /// The kind of those that are referred to.
    pub(super) target: EntityId,
    /// The kind that refers, and the list or the count of it.
    pub(super) of: (EntityId, I),
}

impl Grower<'_> {
    /// Adds the first entities of a list to each tree.
    pub(super) async fn grow_lists(
        &mut self,
        trees: &mut [Tree],
        referring: Referring<'_, ListId>,
        with: &With,
    ) -> Result<(), Error> {
        let Referring { name, target, of } = referring;
        let (mut items, mut ends) = (vec![], vec![]);
        for trees in trees.chunks(READS_AT_ONCE) {
            yield_point().await;
            let keys: Vec<Key> = keys(target, trees);
            let unmet: Vec<&Key> =
                keys.iter().filter(|key| !self.lists.contains_key(&((*key).clone(), of))).collect();
            self.spend(unmet.len())?;
            let read = try_join_all(unmet.iter().map(|key| self.first_listed(of, key))).await?;
            let read: Vec<(Key, First)> = unmet.into_iter().cloned().zip(read).collect();
            self.lists.extend(read.into_iter().map(|(key, first)| ((key, of), first)));
            for key in keys {
                let Some(first) = self.lists.get(&(key, of)).cloned() else { continue };
                ends.push((first.items.len(), first.next));
                items.extend(first.items);
            }
            self.check(items.len())?;
        }
        let mut grown = Box::pin(self.grow(items, with)).await?.into_iter();
        for (tree, (count, next)) in trees.iter_mut().zip(ends) {
            let items = grown.by_ref().take(count).collect();
            tree.lists.insert(name.to_owned(), Branch { items, next });
        }
        Ok(())
    }

    /// Adds a count to each tree.
    pub(super) async fn grow_counts(
        &mut self,
        trees: &mut [Tree],
        referring: Referring<'_, CountId>,
    ) -> Result<(), Error> {
        let Referring { name, target, of } = referring;
        let shards = self.schema.layouts.current.counts().shard_count(of.0, of.1);
        let shards = usize::try_from(shards).unwrap_or(usize::MAX).max(1);
        for trees in trees.chunks_mut(READS_AT_ONCE) {
            yield_point().await;
            let keys: Vec<Key> = keys(target, trees);
            let unmet: Vec<&Key> = keys
                .iter()
                .filter(|key| !self.counts.contains_key(&((*key).clone(), of)))
                .collect();
            self.spend(unmet.len().saturating_mul(shards))?;
            let read = try_join_all(unmet.iter().map(|key| self.count(of, key))).await?;
            let read: Vec<(Key, Item)> = unmet.into_iter().cloned().zip(read).collect();
            self.counts.extend(read.into_iter().map(|(key, count)| ((key, of), count)));
            for (tree, key) in trees.iter_mut().zip(keys) {
                if let Some(count) = self.counts.get(&(key, of)) {
                    tree.counts.insert(name.to_owned(), count.clone());
                }
            }
        }
        Ok(())
    }

    fn first_listed<'a>(
        &'a self,
        (entity, list): (EntityId, ListId),
        (_, id): &'a Key,
    ) -> Answer<'a, First> {
        let entity = self.schema.model().entity(entity);
        let list = entity.list(list);
        let limit = self.limit.unwrap_or(LIMIT);
        let rows = HIDDEN_ROWS_MAX + 4 * u64::from(limit);
        let query = self.db.list(&entity.name, &list.name).limit(limit);
        let query = query.by(by_name(entity, &list.by), id.as_str());
        let query = query.budget(Budget { rows, ..Budget::STANDARD });
        Box::pin(async move {
            let page = of_tenant(query.read().await)?;
            Ok(page
                .map_or_else(First::default, |page| First { items: page.items, next: page.next }))
        })
    }

    fn count<'a>(
        &'a self,
        (entity, count): (EntityId, CountId),
        (_, id): &'a Key,
    ) -> Answer<'a, Item> {
        let entity = self.schema.model().entity(entity);
        let count = entity.count(count);
        let query = self.db.count(&entity.name, &count.name);
        let query = query.by(by_name(entity, &count.by), id.as_str());
        Box::pin(async move {
            let number = of_tenant(query.whole().await)?.unwrap_or_default();
            Ok(number.to_item(entity, count))
        })
    }
}

/// What a query returns; none if no entity of its kind can belong to the tenant, because the tenant fields
/// of two kinds differ in type: then none refers to this one.
fn of_tenant<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Err(Error::Tenant { problem: TenantProblem::Unfit, .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

/// The only field of `by`.
fn by_name<'e>(entity: &'e Entity, by: &[FieldId]) -> &'e str {
    by.first().map_or("", |field| entity.field(*field).name.as_str())
}

fn keys(entity: EntityId, trees: &[Tree]) -> Vec<Key> {
    trees.iter().map(|tree| (entity, tree.record.id().to_owned())).collect()
}
