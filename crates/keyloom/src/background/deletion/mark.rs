//! Marks what a large deletion removes: entities, and references in entities that stay. Tombstones
//! imply rows, postings and counters, so marking is a transition like any other; readers do not see
//! it.

use std::collections::HashSet;

use keyloom_model::{EntityKey, Link, OnDelete, OwnRow, RowKey};
use keyloom_query::{DeletionState, LinkRow};

use super::walk::{Referrer, Referrers, Walk};
use crate::error::Error;
use crate::write::{
    AttemptState, DeletionRecord, Hidden, LINKS_PAGE, SettledReader, TombstoneChange, Tombstones,
    Transition, WriteContext,
};

/// A deletion in its marking stage.
pub(super) struct Marking<'m> {
    ctx: WriteContext<'m>,
    record: &'m DeletionRecord,
    /// The entity to delete, and all further deleted entities that can be referred to: what is marked
    /// behind them is found even if they no longer refer to the root.
    roots: Vec<EntityKey>,
    state: AttemptState,
}

/// An entity, and what the deletion removes from it.
struct Candidate {
    row: OwnRow,
    take: Take,
}

/// What a deletion removes from an entity.
#[derive(Clone, Debug)]
enum Take {
    /// The root of the deletion.
    Root,
    /// The entity, as long as it refers to this target.
    Entity(Link, EntityKey),
    /// The reference to this target.
    Reference(Link, EntityKey),
}

impl Take {
    fn by(link: Link, target: &EntityKey) -> Take {
        match link.on_delete {
            OnDelete::Clear => Take::Reference(link, target.clone()),
            OnDelete::Cascade | OnDelete::Refuse | OnDelete::Keep => {
                Take::Entity(link, target.clone())
            }
        }
    }
}

impl<'m> Marking<'m> {
    pub(super) fn new(ctx: WriteContext<'m>, record: &'m DeletionRecord) -> Marking<'m> {
        Marking { ctx, record, roots: vec![], state: AttemptState::of(record.clone()) }
    }

    pub(super) fn record(&self) -> &'m DeletionRecord {
        self.record
    }

    pub(super) fn roots(&self) -> &[EntityKey] {
        &self.roots
    }

    /// Marks the root, if it has the expected version. Returns its row with the tombstone; none if the
    /// deletion was canceled.
    pub(super) async fn mark_root(
        &mut self,
        root: &EntityKey,
        expected: Option<&str>,
    ) -> Result<Option<OwnRow>, Error> {
        self.roots.push(root.clone());
        let row = self.read_for(root, &Take::Root).await?;
        let row = self.ctx.admission().at_version(root, row, expected)?;
        let version = expected.map(|_| row.image.version.clone());
        if !self.mark_some(vec![Candidate { row, take: Take::Root }]).await? {
            return Ok(None);
        }
        // A write before the tombstone precedes the deletion.
        let now = self.ctx.reader().get_any(root).await?;
        if now.as_ref().is_some_and(|now| !self.record.has_marked(now)) {
            // Another deletion of it was faster, or this one was canceled.
            return Ok(None);
        }
        self.ctx.admission().at_version(root, now, version.as_deref()).map(Some)
    }

    /// Marks everything that is deleted with the root, and the references to clear. Returns false if
    /// the deletion was canceled.
    pub(super) async fn mark_all(&mut self, root: &EntityKey) -> Result<bool, Error> {
        let mut frontier = vec![root.clone()];
        while let Some(target) = frontier.pop() {
            let mut after = None;
            loop {
                let links = self.ctx.reader().links(&target, after.as_ref(), LINKS_PAGE).await?;
                let candidates = self.candidates(&target, links.links).await?;
                let inner: Vec<EntityKey> =
                    candidates.iter().filter_map(|candidate| self.leads_on(candidate)).collect();
                self.roots.extend(inner.iter().cloned());
                if !self.mark_some(candidates).await? {
                    return Ok(false);
                }
                frontier.extend(inner);
                match links.next {
                    None => break,
                    next => after = next,
                }
            }
        }
        Ok(true)
    }

    /// Checks that everything is marked: returns false if an entity has lost its tombstone, and fails
    /// if a reference of an entity that stays forbids the deletion.
    pub(super) async fn is_complete(&self, root: &EntityKey) -> Result<bool, Error> {
        let rules = self.ctx.references();
        let mut walk = Walk::new(self.ctx, self.record, root);
        while let Some(Referrers { target, all }) = walk.next().await? {
            for Referrer { link, row } in all {
                if self.record.has_marked(&row) || !rules.refers(&row.image, &link, &target) {
                    continue;
                }
                let by = row.pending.field(rules.stored_name(&link));
                match link.on_delete {
                    OnDelete::Refuse => return Err(rules.in_use(&target, &link)),
                    OnDelete::Cascade => return Ok(false),
                    OnDelete::Clear if by != Some(self.record.id()) => return Ok(false),
                    OnDelete::Clear | OnDelete::Keep => {}
                }
            }
        }
        Ok(true)
    }

    /// Returns the owners of a page of links that the deletion affects.
    async fn candidates(
        &mut self,
        target: &EntityKey,
        links: Vec<LinkRow>,
    ) -> Result<Vec<Candidate>, Error> {
        let mut candidates = vec![];
        for LinkRow { field, owner, .. } in links {
            let Some(link) = self.ctx.references().link(&owner, field) else { continue };
            let Some(row) = self.read(&owner).await? else { continue };
            let take = Take::by(link, target);
            if self.tombstones(&row, &take).is_some() {
                candidates.push(Candidate { row, take });
            }
        }
        Ok(candidates)
    }

    /// Returns the key of a deleted entity that can be referred to.
    fn leads_on(&self, candidate: &Candidate) -> Option<EntityKey> {
        let key = &candidate.row.image.key;
        let goes = matches!(candidate.take, Take::Entity(..));
        (goes && self.ctx.references().is_referable(key)).then(|| key.clone())
    }

    /// Returns the tombstones that a row gets; none if it is not affected, or has them already.
    fn tombstones(&self, row: &OwnRow, take: &Take) -> Option<Tombstones> {
        let (rules, id) = (self.ctx.references(), self.record.id());
        let others = row.pending.clone().fields_if(|_, by| !self.state.is_called_off(by));
        let others = match others.entity() {
            Some(by) if by != id => others.only_fields(),
            Some(_) | None => others,
        };
        let deletion = Some(id.to_owned());
        match take {
            Take::Root => Some(Tombstones { deletion, pending: others.with_root(id) }),
            Take::Entity(link, target) => {
                let goes = rules.refers(&row.image, link, target)
                    && rules.goes_with(link, self.ctx.is_expired(row));
                let is_new = goes && !self.record.has_marked(row);
                is_new.then(|| Tombstones { deletion, pending: others.with_entity(id) })
            }
            Take::Reference(link, target) => {
                let field = rules.stored_name(link);
                let is_new = rules.refers(&row.image, link, target)
                    && !self.record.has_marked(row)
                    && row.pending.field(field) != Some(id);
                let deletion = None;
                is_new.then(|| Tombstones { deletion, pending: others.with_field(field, id) })
            }
        }
    }

    /// Marks rows, with everything that the tombstones imply: in batches, and one by one where a batch
    /// conflicts. Returns false if the deletion was canceled.
    async fn mark_some(&mut self, candidates: Vec<Candidate>) -> Result<bool, Error> {
        let (mut transitions, mut left) = (vec![], HashSet::new());
        let mut met: HashSet<RowKey> = HashSet::new();
        for Candidate { row, take } in &candidates {
            let key = self.ctx.own_key(&row.image.key);
            match self.tombstones(row, take) {
                None => {}
                // An entity with two references is marked again, after the first tombstone.
                Some(_) if !met.insert(key.clone()) => drop(left.insert(key)),
                Some(set) => {
                    let set = TombstoneChange::Set(set);
                    transitions.push(self.ctx.rewritten(row.clone(), set).await?);
                }
            }
        }
        for some in self.ctx.planner(&[]).batches(&transitions, 1) {
            if !self.commit(some).await? {
                left.extend(some.iter().map(|member| self.ctx.own_key(&member.key)));
            }
        }
        for Candidate { row, take } in candidates {
            let is_left = left.contains(&self.ctx.own_key(&row.image.key));
            if is_left && !self.mark_one(&row.image.key, &take).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn mark_one(&mut self, key: &EntityKey, take: &Take) -> Result<bool, Error> {
        let mut attempts = self.ctx.attempts();
        loop {
            attempts.next().await?;
            let Some(row) = self.read_for(key, take).await? else { return Ok(true) };
            let Some(set) = self.tombstones(&row, take) else { return Ok(true) };
            let marked = self.ctx.rewritten(row, TombstoneChange::Set(set)).await?;
            if self.commit(&[marked]).await? {
                return Ok(true);
            }
            let state = self.ctx.reader().deletion_state(self.record.id()).await?;
            if state != Some(DeletionState::Marking) {
                return Ok(false);
            }
        }
    }

    async fn commit(&self, marked: &[Transition]) -> Result<bool, Error> {
        // An entity that the deletion has marked already is counted once.
        let is_new = |member: &&Transition| {
            let before = member.before.as_ref().map(|row| row.pending.deletions());
            !before.is_some_and(|before| before.contains(self.record.id()))
        };
        let count = marked.iter().filter(is_new).count();
        let mut difference = self.ctx.planner(&self.state.called_off).plan(marked)?;
        difference.actions.push(self.record.add_marked(self.ctx.table, count));
        Ok(self.ctx.commit_difference(difference).await?.is_done())
    }

    /// Reads an entity that is to be marked.
    async fn read_for(&mut self, key: &EntityKey, take: &Take) -> Result<Option<OwnRow>, Error> {
        let hidden = match take {
            // Another deletion of it was applied, and removes what it has hidden.
            Take::Root => Hidden::Leave,
            // It refers to what this deletion removes, so it goes first.
            Take::Entity(..) | Take::Reference(..) => Hidden::Finish,
        };
        SettledReader::new(self.ctx).read_with(key, &mut self.state, hidden).await
    }

    async fn read(&mut self, key: &EntityKey) -> Result<Option<OwnRow>, Error> {
        SettledReader::new(self.ctx).read(key, &mut self.state).await
    }
}
