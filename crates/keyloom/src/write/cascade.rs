//! Finds all entities that the deletions of a transaction affect, by the rules of their references.
//! Only reads.
//!
//! A deletion must see every entity that refers to its own, and none may start to refer to it
//! afterwards: `tombstone` prevents that.

use keyloom_model::{EntityKey, Link, OnDelete, RowKey};
use keyloom_query::{LinkRow, LinksPage};

use super::references::LINKS_PAGE;
use super::write_set::WriteSet;
use super::{AttemptState, SettledReader, TombstoneChange, WriteContext};
use crate::error::Error;

/// The maximum number of entities in one transaction; larger deletions take many.
const WRITE_SET_MAX: usize = 24;

/// The result of expanding a write set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// All affected entities are in the write set.
    Whole,
    /// More entities are affected than fit into one transaction.
    TooMany,
    /// A reference forbids the deletion, but its owner may be deleted too: expand again.
    InDoubt,
}

/// A reference to an entity that is deleted.
struct Reference {
    /// The own row of the referring entity.
    owner: RowKey,
    link: Link,
    target: EntityKey,
}

/// Expands a write set by the entities that its deletions affect.
pub(crate) struct Cascade<'c> {
    ctx: WriteContext<'c>,
    writes: &'c mut WriteSet,
    /// Deleted entities whose referrers are still to be read.
    deleted: Vec<EntityKey>,
    /// References that forbid the deletion of their target.
    refusals: Vec<Reference>,
}

impl<'c> Cascade<'c> {
    pub(crate) fn new(ctx: WriteContext<'c>, writes: &'c mut WriteSet) -> Cascade<'c> {
        let deleted = writes.deletions().map(|transition| transition.key.clone()).collect();
        Cascade { ctx, writes, deleted, refusals: vec![] }
    }

    /// Adds all affected entities.
    pub(crate) async fn expand(mut self, state: &mut AttemptState) -> Result<Expansion, Error> {
        while let Some(target) = self.deleted.pop() {
            let mut after = None;
            while self.ctx.references().is_referable(&target) {
                let page = self.ctx.reader().links(&target, after.as_ref(), LINKS_PAGE).await?;
                let LinksPage { links, next } = page;
                for LinkRow { field, owner, .. } in links {
                    let Some(link) = self.ctx.references().link(&owner, field) else { continue };
                    self.add(owner, link, &target, state).await?;
                    if self.writes.transitions().len() > WRITE_SET_MAX {
                        return Ok(Expansion::TooMany);
                    }
                }
                match next {
                    None => break,
                    next => after = next,
                }
            }
        }
        // Links are not read from a snapshot: a new entity can be found as a referrer before it is
        // found to be deleted. In the second expansion, everything that deletes it is found.
        match self.refusal() {
            None => Ok(Expansion::Whole),
            Some((key, error)) if state.refused.as_ref() == Some(key) => Err(error),
            Some((key, _)) => {
                state.refused = Some(key.clone());
                Ok(Expansion::InDoubt)
            }
        }
    }

    /// Adds a referring entity, with the effect of the deletion on it.
    async fn add(
        &mut self,
        owner: EntityKey,
        link: Link,
        target: &EntityKey,
        state: &mut AttemptState,
    ) -> Result<(), Error> {
        let key = self.ctx.own_key(&owner);
        if self.writes.get(&key).is_none() {
            let Some(row) = SettledReader::new(self.ctx).read(&owner, state).await? else {
                return Ok(());
            };
            let transition = self.ctx.rewritten(row, TombstoneChange::Drop).await?;
            self.writes.add(key.clone(), transition);
        }
        let reference = Reference { owner: key, link, target: target.clone() };
        self.affect(&reference)?;
        if link.on_delete == OnDelete::Refuse {
            self.refusals.push(reference);
        }
        Ok(())
    }

    /// Applies the deletion of a target to the entity that refers to it.
    fn affect(&mut self, reference: &Reference) -> Result<(), Error> {
        let Reference { owner, link, target } = reference;
        let (ctx, rules) = (self.ctx, self.ctx.references());
        let Some(member) = self.writes.get_mut(owner) else { return Ok(()) };
        let Some(image) = member.after.as_mut().filter(|image| rules.refers(image, link, target))
        else {
            return Ok(());
        };
        match link.on_delete {
            OnDelete::Refuse | OnDelete::Cascade => {
                let before = member.before.as_ref();
                if before.is_some_and(|row| rules.goes_with(link, ctx.is_expired(row))) {
                    member.after = None;
                    self.deleted.push(member.key.clone());
                }
            }
            OnDelete::Clear => {
                image.fields.remove(rules.field_name(link));
                image.version = ctx.stamps.next()?;
            }
            OnDelete::Keep => {}
        }
        Ok(())
    }

    /// Returns a reference that forbids the deletion of its target, and whose owner is neither
    /// deleted nor has dropped it.
    fn refusal(&self) -> Option<(&RowKey, Error)> {
        let rules = self.ctx.references();
        self.refusals.iter().find_map(|Reference { owner, link, target }| {
            let image = self.writes.get(owner)?.after.as_ref()?;
            rules.refers(image, link, target).then(|| (owner, rules.in_use(target, link)))
        })
    }
}
