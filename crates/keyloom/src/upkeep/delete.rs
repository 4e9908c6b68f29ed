//! Deleting what others may refer to.
//!
//! A deletion must see everyone who refers to its entity, and nobody may come to refer to it
//! afterwards. So it marks the entity first: a transaction that takes up a reference checks that
//! its target has no mark. A mark names a *task*, a row of its own:
//!
//! ```text
//! marking    nothing is decided: whoever needs the entity calls the deletion off by removing the
//!            task; marks of a task that is not there mean nothing
//! clearing   decided: references that are to be cleared are being cleared
//! sweeping   everything marked is gone for readers, and is being removed
//! ```
//!
//! A deletion that fits into one transaction ends in `marking`: the transaction that deletes
//! everything removes the task too. `sweep.rs` has those that do not fit.

use keyloom_model::attribute::{DELETION, PARTITION};
use keyloom_model::{EntityKey, Link, OnDelete, OwnRow, RowKey};
use keyloom_query::{DeletionState, LinkRow, deletion_key};
use keyloom_store::{Delete, Put, TransactAction, UpdateItem};
use keyloom_value::{Condition, Item, Path, Update, Value};

use super::commit::{Outcome, commit};
use super::plan::{Otherwise, Planned, as_read};
use super::write::Effort;
use super::{Cast, Transition, Upkeep};
use crate::error::Error;

/// As many entities as are deleted or cleared in one transaction; more are done step by step.
const CAST_MAX: usize = 24;
/// How many links are read at once.
pub(crate) const LINKS_PAGE: u32 = 100;

/// Of a task's row: the partition key of the entity that is to be deleted.
pub(crate) const ROOT: &str = "root";

/// A deletion of this call.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
}

/// More entities take part than fit into one transaction.
#[derive(Debug)]
pub(crate) struct TooMany;

/// Whether to read everything again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marked {
    /// Everything was marked already.
    Before,
    /// Marks were set, or could not be: what was read is old.
    Now,
}

impl Marked {
    pub(crate) fn is_again(self) -> bool {
        self == Marked::Now
    }
}

impl Upkeep<'_> {
    /// Adds everyone who is affected by the deletions of a cast, as the rules of their references
    /// say. Only reads.
    pub(crate) async fn expand(
        &self,
        cast: &mut Cast,
        effort: &mut Effort,
    ) -> Result<Result<(), TooMany>, Error> {
        let is_deletion = |transition: &&Transition| transition.after.is_none();
        let deletions = cast.transitions().iter().filter(is_deletion);
        let mut deleted: Vec<EntityKey> = deletions.map(|t| t.key.clone()).collect();
        let mut refusals: Vec<(RowKey, Link, EntityKey)> = vec![];
        while let Some(target) = deleted.pop() {
            let mut after = None;
            while self.is_referable(&target) {
                let page = self.reader().links(&target, after.as_ref(), LINKS_PAGE).await?;
                for LinkRow { field, owner, .. } in page.links {
                    let Some(link) = self.link(&owner, field) else { continue };
                    let key = self.layouts.current.own_key(&owner);
                    if cast.get(&key).is_none() {
                        let Some(row) = self.read(&owner, effort).await? else { continue };
                        let after = Some(self.layouts.upgraded(&row));
                        cast.add(key.clone(), Transition::new(owner, Some(row), after));
                    }
                    if let Some(added) = self.affect(cast, (&key, &link), &target)? {
                        deleted.push(added);
                    }
                    if link.on_delete == OnDelete::Refuse {
                        refusals.push((key, link, target.clone()));
                    }
                    if cast.transitions().len() > CAST_MAX {
                        return Ok(Err(TooMany));
                    }
                }
                match page.next {
                    None => break,
                    next => after = next,
                }
            }
        }
        self.check_refusals(cast, &refusals)?;
        Ok(Ok(()))
    }

    /// What the deletion of its target does to one member of the cast. Returns its key if it is
    /// deleted by it.
    fn affect(
        &self,
        cast: &mut Cast,
        (key, link): (&RowKey, &Link),
        target: &EntityKey,
    ) -> Result<Option<EntityKey>, Error> {
        let stamp = self.stamp()?;
        let name = self.layouts.current.model().entity(link.owner).field(link.field).name.clone();
        let Some(member) = cast.get_mut(key) else { return Ok(None) };
        let Some(image) = &mut member.after else { return Ok(None) };
        if image.fields.get(&name).and_then(Value::as_s) != Some(target.id.as_str()) {
            return Ok(None);
        }
        let goes_too = member.before.as_ref().is_some_and(|row| self.goes_with(link, row));
        match link.on_delete {
            OnDelete::Refuse | OnDelete::Cascade => {
                member.after.take_if(|_| goes_too);
                Ok(goes_too.then(|| member.key.clone()))
            }
            OnDelete::Clear => {
                image.fields.remove(&name);
                image.version = stamp;
                Ok(None)
            }
        }
    }

    /// A reference that refuses holds its target, unless the one that has it goes too or has let
    /// it go.
    fn check_refusals(
        &self,
        cast: &Cast,
        refusals: &[(RowKey, Link, EntityKey)],
    ) -> Result<(), Error> {
        for (key, link, target) in refusals {
            let image = cast.get(key).and_then(|member| member.after.as_ref());
            let entity = self.layouts.current.model().entity(link.owner);
            let name = &entity.field(link.field).name;
            let value = image.and_then(|image| image.fields.get(name)).and_then(Value::as_s);
            if value == Some(target.id.as_str()) {
                return Err(self.in_use(target, link));
            }
        }
        Ok(())
    }

    pub(crate) fn in_use(&self, target: &EntityKey, link: &Link) -> Error {
        let by = self.layouts.current.model().entity(link.owner);
        Error::InUse {
            entity: self.entity(target).name.clone(),
            id: target.id.clone(),
            by_entity: by.name.clone(),
            by_field: by.field(link.field).name.clone(),
        }
    }

    /// Marks everything in the cast that is deleted and could be referred to.
    pub(crate) async fn mark(&self, cast: &Cast, effort: &mut Effort) -> Result<Marked, Error> {
        let task = effort.task.clone();
        let is_marked = |row: &OwnRow| {
            task.as_ref().is_some_and(|task| row.deletion.as_ref() == Some(&task.id))
        };
        let deletions = cast.transitions().iter().filter(|member| member.after.is_none());
        let rows = deletions.filter(|member| self.is_referable(&member.key));
        let rows: Vec<&OwnRow> = rows
            .filter_map(|member| member.before.as_ref())
            .filter(|row| !is_marked(row))
            .collect();
        let Some(first) = rows.first() else { return Ok(Marked::Before) };
        let mut planned = vec![];
        let task = match task {
            Some(task) => task,
            None => {
                let task = Task { id: self.stamp()? };
                planned.push(self.start_of(&task, &first.image.key));
                task
            }
        };
        planned.extend(rows.iter().map(|row| self.mark_own(row, &task)));
        if let Outcome::Done = commit(self.store, planned).await? {
            effort.marked.extend(rows.iter().map(|row| row.image.key.clone()));
            effort.task = Some(task);
        } else {
            self.renew(effort).await?;
        }
        Ok(Marked::Now)
    }

    /// Writes the row of a task.
    pub(crate) fn start_of(&self, task: &Task, root: &EntityKey) -> Planned {
        let mut item = deletion_key(&task.id).to_item();
        item.insert(DeletionState::ATTRIBUTE, DeletionState::Marking.to_value());
        item.insert(ROOT, self.layouts.current.entity_partition(root).into_vec());
        let put = Put::new(self.table, item).when(Condition::missing(PARTITION));
        Planned { action: TransactAction::Put(put), otherwise: Otherwise::Changed }
    }

    /// Removes the row of a task that nobody has called off.
    pub(crate) fn end_of(&self, task: &Task) -> Planned {
        let delete = Delete::new(self.table, deletion_key(&task.id).to_item());
        let action = TransactAction::Delete(delete.when(is_in(DeletionState::Marking)));
        Planned { action, otherwise: Otherwise::Changed }
    }

    pub(crate) fn mark_own(&self, row: &OwnRow, task: &Task) -> Planned {
        let key = self.layouts.current.own_key(&row.image.key).to_item();
        let mark = Update::new().set(Path::from(DELETION), Value::from(task.id.as_str()));
        let update = UpdateItem::new(self.table, key, mark).when(as_read(row));
        Planned { action: TransactAction::Update(update), otherwise: Otherwise::Changed }
    }

    /// Calls a deletion off that has not been decided; false if it has been, or is gone.
    pub(crate) async fn call_off(&self, task: &str) -> Result<bool, Error> {
        let end = self.end_of(&Task { id: task.to_owned() });
        Ok(matches!(commit(self.store, vec![end]).await?, Outcome::Done))
    }

    /// If the deletion of this call was called off, its marks mean nothing: it begins anew.
    pub(crate) async fn renew(&self, effort: &mut Effort) -> Result<(), Error> {
        let Some(task) = &effort.task else { return Ok(()) };
        if self.reader().deletion_state(&task.id).await?.is_none() {
            effort.void.extend(effort.task.take().map(|task| task.id));
        }
        Ok(())
    }

    /// Gives the deletion of this call up. Marks mean nothing without their task; that they are
    /// removed here is only tidy.
    pub(crate) async fn abandon(&self, effort: &mut Effort) {
        if let Some(task) = effort.task.take() {
            // If this fails, whoever meets a mark of the task calls it off.
            let _ = self.call_off(&task.id).await;
            effort.void.push(task.id);
        }
        for key in std::mem::take(&mut effort.marked) {
            // The next write of the row removes the mark if this does not.
            if let Ok(Some(row)) = self.reader().get_any(&key).await
                && let Some(task) = row.deletion.as_ref().filter(|task| effort.void.contains(task))
            {
                let _ = self.unmark(&row, task).await;
            }
        }
    }

    /// Removes the mark of a deletion that was called off from an entity, and from its copy.
    pub(crate) async fn unmark(&self, row: &OwnRow, task: &str) -> Result<(), Error> {
        let own = self.layouts.current.own_key(&row.image.key);
        for key in [own].into_iter().chain(self.copy_key(row)) {
            let is_marked = Condition::equal(Path::from(DELETION), Value::from(task));
            let update = Update::new().remove(Path::from(DELETION));
            let update = UpdateItem::new(self.table, key.to_item(), update).when(is_marked);
            let action = TransactAction::Update(update);
            commit(self.store, vec![Planned { action, otherwise: Otherwise::Changed }]).await?;
        }
        Ok(())
    }

    /// Where the copy of a child stands with its parent.
    pub(crate) fn copy_key(&self, row: &OwnRow) -> Option<RowKey> {
        let entity = self.entity(&row.image.key);
        let field = entity.parent?;
        let link = self.link(&row.image.key, field)?;
        let parent = row.image.fields.get(&entity.field(field).name)?.as_s()?;
        Some(self.layouts.current.link_key(&link, parent, &row.image.key))
    }

    /// Whether one that refers goes with its target: as the reference says, and in any case if it
    /// has expired. Nobody sees that any more, so it holds nothing.
    pub(crate) fn goes_with(&self, link: &Link, owner: &OwnRow) -> bool {
        match link.on_delete {
            OnDelete::Cascade => true,
            OnDelete::Refuse => self.is_expired(owner),
            OnDelete::Clear => false,
        }
    }

    /// Whether others can refer to it at all.
    pub(crate) fn is_referable(&self, key: &EntityKey) -> bool {
        !self.layouts.current.referrers(key.entity).is_empty()
    }

    /// How the field of an owner refers.
    pub(crate) fn link(&self, owner: &EntityKey, field: keyloom_model::FieldId) -> Option<Link> {
        let links = self.layouts.current.links(owner.entity);
        links.iter().find(|link| link.field == field).copied()
    }
}

pub(crate) fn is_in(state: DeletionState) -> Condition {
    Condition::equal(Path::from(DeletionState::ATTRIBUTE), state.to_value())
}

/// The partition key of what a task's row says it deletes.
pub(crate) fn root_of(row: &Item) -> Option<&[u8]> {
    row.get(ROOT).and_then(Value::as_b)
}
