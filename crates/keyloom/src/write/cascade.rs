//! Finds everyone who is affected by the deletions of a transaction, as the rules of their
//! references say. Reads, and writes nothing.
//!
//! A deletion must see everyone who refers to its entity, and nobody may come to refer to it
//! afterwards: `tombstone` sees to that.

use keyloom_model::{EntityKey, Link, OnDelete, RowKey};
use keyloom_query::{LinkRow, LinksPage};

use super::references::LINKS_PAGE;
use super::write_set::WriteSet;
use super::{AttemptState, SettledReader, TombstoneChange, WriteContext};
use crate::error::Error;

/// As many entities as are deleted or cleared in one transaction; more are done step by step.
const WRITE_SET_MAX: usize = 24;

/// What came of looking for everyone who is affected by a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// All are in the write set.
    Whole,
    /// More entities take part than fit into one transaction.
    TooMany,
    /// One refuses, but was perhaps met before what it goes with: look again.
    InDoubt,
}

/// A reference to an entity that goes.
struct Reference {
    /// The own row of the one that refers.
    owner: RowKey,
    link: Link,
    target: EntityKey,
}

/// Adds to a write set those who are affected by its deletions.
pub(crate) struct Cascade<'c> {
    ctx: WriteContext<'c>,
    writes: &'c mut WriteSet,
    /// Those that are deleted and whose referrers were not looked for yet.
    deleted: Vec<EntityKey>,
    /// The references that refuse.
    refusals: Vec<Reference>,
}

impl<'c> Cascade<'c> {
    pub(crate) fn new(ctx: WriteContext<'c>, writes: &'c mut WriteSet) -> Cascade<'c> {
        let deleted = writes.deletions().map(|transition| transition.key.clone()).collect();
        Cascade { ctx, writes, deleted, refusals: vec![] }
    }

    /// Adds everyone.
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
        // Links are not read at one moment: one that came meanwhile can be met as a referrer before
        // it is met as one that goes. The second time, all that it goes with was there before.
        match self.refusal() {
            None => Ok(Expansion::Whole),
            Some((key, error)) if state.refused.as_ref() == Some(key) => Err(error),
            Some((key, _)) => {
                state.refused = Some(key.clone());
                Ok(Expansion::InDoubt)
            }
        }
    }

    /// Adds one that refers to what goes, with what that does to it.
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

    /// What the deletion of its target does to one that refers.
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

    /// A reference that refuses holds its target, unless the one that has it goes too or has let
    /// it go.
    fn refusal(&self) -> Option<(&RowKey, Error)> {
        let rules = self.ctx.references();
        self.refusals.iter().find_map(|Reference { owner, link, target }| {
            let image = self.writes.get(owner)?.after.as_ref()?;
            rules.refers(image, link, target).then(|| (owner, rules.in_use(target, link)))
        })
    }
}
