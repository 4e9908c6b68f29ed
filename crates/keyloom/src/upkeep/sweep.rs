//! Deletions that do not fit into one transaction, step by step. See `delete.rs` for the states.
//!
//! Everything that goes is reached from the root over references that cascade. Marking walks from
//! the root outward; sweeping removes the outermost first, so that what is left can always be
//! reached from the root again, whenever it is resumed.

use std::collections::HashSet;

use keyloom_model::attribute::{DELETION, PARTITION};
use keyloom_model::{EntityKey, Link, OnDelete, OwnRow, RowKey};
use keyloom_query::{DeletionState, LinkRow, deletion_key};
use keyloom_store::{Check, Delete, Get, OnFailure, TransactAction, UpdateItem};
use keyloom_value::{Condition, Path, Update, Value};

use super::commit::{Outcome, commit};
use super::delete::{LINKS_PAGE, Task, is_in};
use super::plan::{ACTIONS_MAX, Planned};
use super::write::Effort;
use super::{ATTEMPTS_MAX, Mark, Transition, Upkeep};
use crate::error::Error;

/// One that refers to what is being deleted.
pub(crate) struct Referrer {
    link: Link,
    pub(crate) row: OwnRow,
}

impl Upkeep<'_> {
    /// Deletes an entity, if it has the expected version, and everything that goes with it.
    pub(crate) async fn delete_at_length(
        &self,
        (root, expected): (&EntityKey, Option<&str>),
        asked: &Effort,
    ) -> Result<(), Error> {
        for _ in 0..ATTEMPTS_MAX {
            let task = Task { id: self.stamp()? };
            commit(self.store, vec![self.start_of(&task, root)]).await?;
            let decided = self.decide(&task, (root, expected), asked).await;
            match decided {
                Ok(true) => return self.resume(&task.id).await,
                // Somebody needed one of the entities, or changed one.
                Ok(false) => self.take_back(&task.id, std::slice::from_ref(root)).await?,
                Err(error) => {
                    // If this fails, whoever meets a mark of the task calls it off.
                    let _ = self.take_back(&task.id, std::slice::from_ref(root)).await;
                    return Err(error);
                }
            }
        }
        Err(Error::Contended)
    }

    /// Brings a decided deletion to its end; one that is not there has come to it.
    pub(crate) async fn resume(&self, task: &str) -> Result<(), Error> {
        let row = self.store.get(Get::new(self.table, deletion_key(task).to_item())).await?;
        let Some(row) = row else { return Ok(()) };
        let root = self.roots_of(&row).into_iter().next().ok_or_else(|| {
            Error::damaged(format!("The deletion `{task}` does not say what it deletes."))
        })?;
        let state = DeletionState::read(&row).map_err(|_| {
            Error::damaged(format!("The state of the deletion `{task}` cannot be read."))
        })?;
        let task = Task { id: task.to_owned() };
        if state == DeletionState::Clearing {
            self.clear_all(&task, &root).await?;
            self.turn(&task, (DeletionState::Clearing, DeletionState::Sweeping)).await?;
        }
        self.sweep(&task, &root).await?;
        let end = Delete::new(self.table, deletion_key(&task.id).to_item());
        self.store.delete(end).await?;
        Ok(())
    }

    /// Marks everything, makes sure that nothing refuses, and decides. False if it was called off.
    async fn decide(
        &self,
        task: &Task,
        (root, expected): (&EntityKey, Option<&str>),
        asked: &Effort,
    ) -> Result<bool, Error> {
        let mut effort = Effort { task: Some(task.clone()), ..Effort::default() };
        let mut decision =
            vec![self.turning(task, (DeletionState::Marking, DeletionState::Clearing))];
        decision.extend(self.receipt_of(asked.ticket.as_ref(), (&[None], Some(task)))?);
        decision.extend(asked.riders.iter().cloned());
        let row = self.at_version(root, self.read(root, &mut effort).await?, expected)?;
        Ok(self.mark_rows(&[row], task).await?
            && self.mark_all(task, root, &mut effort).await?
            && self.refuse_all(task, root).await?
            && matches!(commit(self.store, decision).await?, Outcome::Done))
    }

    /// Marks everything that goes with the root.
    async fn mark_all(
        &self,
        task: &Task,
        root: &EntityKey,
        effort: &mut Effort,
    ) -> Result<bool, Error> {
        let mut frontier = vec![root.clone()];
        while let Some(target) = frontier.pop() {
            let mut after = None;
            loop {
                let page = self.reader().links(&target, after.as_ref(), LINKS_PAGE).await?;
                let mut rows = vec![];
                for LinkRow { field, owner, .. } in page.links {
                    let Some(link) = self.link(&owner, field) else { continue };
                    if link.on_delete == OnDelete::Clear {
                        continue;
                    }
                    let Some(row) = self.read(&owner, effort).await? else { continue };
                    let refers = self.refers(&row.image, &link, &target);
                    if refers && self.goes_with(&link, &row) && !task.has_marked(&row) {
                        rows.push(row);
                    }
                }
                if !self.mark_rows(&rows, task).await? {
                    return Ok(false);
                }
                let keys = rows.into_iter().map(|row| row.image.key);
                frontier.extend(keys.filter(|key| self.is_referable(key)));
                match page.next {
                    None => break,
                    next => after = next,
                }
            }
        }
        Ok(true)
    }

    /// Marks rows, the copies of children too; false if one has changed.
    async fn mark_rows(&self, rows: &[OwnRow], task: &Task) -> Result<bool, Error> {
        for some in rows.chunks(ACTIONS_MAX / 2) {
            let mut planned = vec![];
            for row in some {
                planned.push(self.mark_own(row, task));
                planned.extend(self.mark_copy(row, task));
            }
            if !matches!(commit(self.store, planned).await?, Outcome::Done) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The key of the copy that stands with the parent.
    pub(crate) fn copy_key(&self, row: &OwnRow) -> Option<RowKey> {
        let entity = self.entity(&row.image.key);
        let field = entity.parent?;
        let link = self.link(&row.image.key, field)?;
        let parent = row.image.fields.get(&entity.field(field).name)?.as_s()?;
        Some(self.layouts.current.link_key(&link, parent, &row.image.key))
    }

    fn mark_copy(&self, row: &OwnRow, task: &Task) -> Option<Planned> {
        let key = self.copy_key(row)?.to_item();
        let mark = Update::new().set(Path::from(DELETION), Value::from(task.id.as_str()));
        let update = UpdateItem::new(self.table, key, mark).when(Condition::exists(PARTITION));
        Some(Planned::or_changed(TransactAction::Update(update)))
    }

    /// Fails if something that stays refuses that its target goes. False if something that goes
    /// has lost its mark: then the marks are not whole.
    async fn refuse_all(&self, task: &Task, root: &EntityKey) -> Result<bool, Error> {
        let mut walk = Walk::new(root.clone());
        while let Some((target, referrers)) = walk.next(self, task).await? {
            for Referrer { link, row } in referrers {
                if task.has_marked(&row) || !self.refers(&row.image, &link, &target) {
                    continue;
                }
                match link.on_delete {
                    OnDelete::Refuse => return Err(self.in_use(&target, &link)),
                    OnDelete::Cascade => return Ok(false),
                    OnDelete::Clear | OnDelete::Keep => {}
                }
            }
        }
        Ok(true)
    }

    /// Clears every reference that is to be cleared, in what stays.
    async fn clear_all(&self, task: &Task, root: &EntityKey) -> Result<(), Error> {
        let mut walk = Walk::new(root.clone());
        while let Some((target, referrers)) = walk.next(self, task).await? {
            for Referrer { link, row } in referrers {
                if link.on_delete == OnDelete::Clear && !task.has_marked(&row) {
                    self.clear(task, (&row.image.key, &link), &target).await?;
                }
            }
        }
        Ok(())
    }

    /// Clears one reference. Only as long as the task says so: later, the target can be another
    /// one with the same id.
    async fn clear(
        &self,
        task: &Task,
        (key, link): (&EntityKey, &Link),
        target: &EntityKey,
    ) -> Result<(), Error> {
        let name = &self.entity(key).field(link.field).name;
        for _ in 0..ATTEMPTS_MAX {
            let Some(row) = self.reader().get_any(key).await? else { return Ok(()) };
            let state = self.reader().deletion_state(&task.id).await?;
            if !self.refers(&row.image, link, target) || state != Some(DeletionState::Clearing) {
                return Ok(());
            }
            let mut image = self.layouts.upgraded(row.clone());
            image.fields.remove(name);
            let after = Some(self.image(key, image.fields)?);
            // Another deletion may have marked it, and be decided.
            let mut transition = Transition::new(key.clone(), Some(row), after);
            transition.mark = Mark::Keep;
            self.number(&mut transition).await?;
            let mut plan = self.planner(&[]).plan(&[transition])?;
            plan.actions.push(self.still_clearing(task));
            if matches!(commit(self.store, plan).await?, Outcome::Done) {
                return Ok(());
            }
        }
        Err(Error::Contended)
    }

    fn still_clearing(&self, task: &Task) -> Planned {
        let check = Check {
            table: self.table.clone(),
            key: deletion_key(&task.id).to_item(),
            condition: is_in(DeletionState::Clearing),
            on_failure: OnFailure::Nothing,
        };
        Planned::or_changed(TransactAction::Check(check))
    }

    /// Removes everything that is marked, the outermost first.
    async fn sweep(&self, task: &Task, root: &EntityKey) -> Result<(), Error> {
        let mut path = vec![root.clone()];
        let mut on_path: HashSet<RowKey> = path.iter().map(|k| self.own_key(k)).collect();
        let mut failures = 0;
        while let Some(target) = path.last().cloned() {
            let (inner, outer) = self.marked_referrers(task, &target, &on_path).await?;
            if let Some(inner) = inner {
                on_path.insert(self.own_key(&inner));
                path.push(inner);
                continue;
            }
            let is_last = outer.is_empty();
            let rows = match is_last {
                true => {
                    let row = self.reader().get_any(&target).await?;
                    row.into_iter().filter(|row| task.has_marked(row)).collect()
                }
                false => outer,
            };
            if self.remove(&rows).await? {
                failures = 0;
                path.truncate(path.len() - usize::from(is_last));
                continue;
            }
            // Another one may be sweeping too and have been faster: then look again.
            failures += 1;
            if failures > ATTEMPTS_MAX {
                return Err(Error::Contended);
            }
        }
        Ok(())
    }

    /// Of those marked that refer to a target: one that others can refer to, or a page of those
    /// that cannot be referred to.
    async fn marked_referrers(
        &self,
        task: &Task,
        target: &EntityKey,
        on_path: &HashSet<RowKey>,
    ) -> Result<(Option<EntityKey>, Vec<OwnRow>), Error> {
        let mut after = None;
        loop {
            let page = self.reader().links(target, after.as_ref(), LINKS_PAGE).await?;
            let mut outer = vec![];
            for LinkRow { owner, .. } in page.links {
                if on_path.contains(&self.own_key(&owner)) {
                    continue;
                }
                let Some(row) = self.reader().get_any(&owner).await? else { continue };
                if !task.has_marked(&row) {
                    continue;
                }
                if self.is_referable(&owner) {
                    return Ok((Some(owner), vec![]));
                }
                outer.push(row);
            }
            match page.next {
                Some(next) if outer.is_empty() => after = Some(next),
                Some(_) | None => return Ok((None, outer)),
            }
        }
    }

    /// Removes rows with everything that they imply, as many at once as fit. False if one has
    /// changed.
    async fn remove(&self, rows: &[OwnRow]) -> Result<bool, Error> {
        let transitions: Vec<_> = rows.iter().cloned().map(Transition::delete).collect();
        for some in self.batches(&transitions) {
            if !matches!(self.commit_transitions(some).await?, Outcome::Done) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves a task from one state to the next; false if it was not in it.
    pub(crate) async fn turn(
        &self,
        task: &Task,
        states: (DeletionState, DeletionState),
    ) -> Result<bool, Error> {
        let planned = vec![self.turning(task, states)];
        Ok(matches!(commit(self.store, planned).await?, Outcome::Done))
    }

    fn turning(&self, task: &Task, (from, to): (DeletionState, DeletionState)) -> Planned {
        let update = Update::new().set(Path::from(DeletionState::ATTRIBUTE), to.to_value());
        let key = deletion_key(&task.id).to_item();
        let update = UpdateItem::new(self.table, key, update).when(is_in(from));
        Planned::or_changed(TransactAction::Update(update))
    }
}

/// Through everything that a task has marked, with those that refer to each, page by page.
pub(crate) struct Walk {
    frontier: Vec<EntityKey>,
    met: HashSet<RowKey>,
    page: Option<(EntityKey, Option<RowKey>)>,
}

impl Walk {
    pub(crate) fn new(root: EntityKey) -> Walk {
        Walk { frontier: vec![root], met: HashSet::new(), page: None }
    }

    pub(crate) async fn next(
        &mut self,
        upkeep: &Upkeep<'_>,
        task: &Task,
    ) -> Result<Option<(EntityKey, Vec<Referrer>)>, Error> {
        let (target, after) = match self.page.take() {
            Some(page) => page,
            None => match self.frontier.pop() {
                Some(target) => (target, None),
                None => return Ok(None),
            },
        };
        let page = upkeep.reader().links(&target, after.as_ref(), LINKS_PAGE).await?;
        let mut referrers = vec![];
        for LinkRow { field, owner, .. } in page.links {
            let Some(link) = upkeep.link(&owner, field) else { continue };
            let Some(row) = upkeep.reader().get_any(&owner).await? else { continue };
            let is_marked = task.has_marked(&row);
            if is_marked && upkeep.is_referable(&owner) && self.met.insert(upkeep.own_key(&owner)) {
                self.frontier.push(owner);
            }
            referrers.push(Referrer { link, row });
        }
        self.page = page.next.map(|next| (target.clone(), Some(next)));
        Ok(Some((target, referrers)))
    }
}
