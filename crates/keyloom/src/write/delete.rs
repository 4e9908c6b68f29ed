//! Deleting what others may refer to.
//!
//! A deletion must see everyone who refers to its entity, and nobody may come to refer to it
//! afterwards. So it marks the entity first: a transaction that takes up a reference checks that
//! its target has no mark. A mark names a *task*, a row of its own:
//!
//! ```text
//! marking     nothing has happened: whoever needs the entity calls the deletion off
//! called off  its marks mean nothing, like those of a task that is not there; they are taken back
//!             by the deletion itself, or by the background runner if nobody is at it any more
//! sweeping    it has happened: everything it takes is gone for readers, and is being removed
//! ```
//!
//! A deletion that fits into one transaction ends in `marking`: the transaction that deletes
//! everything removes the task too. `sweep.rs` has those that do not fit.

use keyloom_model::attribute::{DELETION, PARTITION};
use keyloom_model::{EntityKey, Image, Link, OnDelete, OwnRow, RowKey};
use keyloom_query::{DeletionState, LinkRow, deletion_key};
use keyloom_store::{Delete, Put, TransactAction, UpdateItem};
use keyloom_value::{Condition, Item, Path, Update, Value};

use super::commit::{Outcome, commit};
use super::execute::AttemptState;
use super::plan::{PlannedAction, as_read};
use super::{Transition, WriteContext, WriteSet};
use crate::error::Error;

/// As many entities as are deleted or cleared in one transaction; more are done step by step.
const WRITE_SET_MAX: usize = 24;
/// How many links are read at once.
pub(crate) const LINKS_PAGE: u32 = 100;

/// Of a task's row: the partition keys of the entities from which everything that it has marked
/// can be reached; first the one that is to be deleted.
const ROOTS: &str = "roots";

/// A deletion of this call.
#[derive(Clone, Debug)]
pub(crate) struct Deletion {
    pub(crate) id: String,
}

impl Deletion {
    /// Whether a row carries its mark.
    pub(crate) fn has_marked(&self, row: &OwnRow) -> bool {
        row.deletion.as_ref() == Some(&self.id)
    }
}

/// What came of looking for everyone who is affected by a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// All are in the writes.
    Whole,
    /// More entities take part than fit into one transaction.
    TooMany,
    /// One refuses, but was perhaps met before what it goes with: look again.
    InDoubt,
}

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

impl WriteContext<'_> {
    /// Adds everyone who is affected by the deletions of a writes, as the rules of their references
    /// say. Only reads.
    pub(crate) async fn expand(
        &self,
        writes: &mut WriteSet,
        attempt: &mut AttemptState,
    ) -> Result<Expansion, Error> {
        let is_deletion = |transition: &&Transition| transition.after.is_none();
        let deletions = writes.transitions().iter().filter(is_deletion);
        let mut deleted: Vec<EntityKey> = deletions.map(|t| t.key.clone()).collect();
        let mut refusals: Vec<(RowKey, Link, EntityKey)> = vec![];
        while let Some(target) = deleted.pop() {
            let mut after = None;
            while self.is_referable(&target) {
                let page = self.reader().links(&target, after.as_ref(), LINKS_PAGE).await?;
                for LinkRow { field, owner, .. } in page.links {
                    let Some(link) = self.link(&owner, field) else { continue };
                    let key = self.own_key(&owner);
                    if writes.get(&key).is_none() {
                        let Some(row) = self.read(&owner, attempt).await? else { continue };
                        let after = Some(self.layouts.upgraded(row.clone()));
                        let mut transition = Transition::new(owner, Some(row), after);
                        self.number(&mut transition).await?;
                        writes.add(key.clone(), transition);
                    }
                    if let Some(added) = self.affect(writes, (&key, &link), &target)? {
                        deleted.push(added);
                    }
                    if link.on_delete == OnDelete::Refuse {
                        refusals.push((key, link, target.clone()));
                    }
                    if writes.transitions().len() > WRITE_SET_MAX {
                        return Ok(Expansion::TooMany);
                    }
                }
                match page.next {
                    None => break,
                    next => after = next,
                }
            }
        }
        // Links are not read at one moment: one that came meanwhile can be met as a referrer before
        // it is met as one that goes. The second time, all that it goes with was there before.
        match self.refusal(writes, &refusals) {
            None => Ok(Expansion::Whole),
            Some((key, error)) if attempt.refused.as_ref() == Some(key) => Err(error),
            Some((key, _)) => {
                attempt.refused = Some(key.clone());
                Ok(Expansion::InDoubt)
            }
        }
    }

    /// What the deletion of its target does to one member of the writes. Returns its key if it is
    /// deleted by it.
    fn affect(
        &self,
        writes: &mut WriteSet,
        (key, link): (&RowKey, &Link),
        target: &EntityKey,
    ) -> Result<Option<EntityKey>, Error> {
        let Some(member) = writes.get_mut(key) else { return Ok(None) };
        let Some(image) = member.after.as_mut().filter(|image| self.refers(image, link, target))
        else {
            return Ok(None);
        };
        let goes_too = member.before.as_ref().is_some_and(|row| self.goes_with(link, row));
        match link.on_delete {
            OnDelete::Refuse | OnDelete::Cascade => {
                member.after.take_if(|_| goes_too);
                Ok(goes_too.then(|| member.key.clone()))
            }
            OnDelete::Clear => {
                image.fields.remove(&self.entity(&image.key).field(link.field).name);
                image.version = self.stamp()?;
                Ok(None)
            }
            OnDelete::Keep => Ok(None),
        }
    }

    /// A reference that refuses holds its target, unless the one that has it goes too or has let
    /// it go.
    fn refusal<'r>(
        &self,
        writes: &WriteSet,
        refusals: &'r [(RowKey, Link, EntityKey)],
    ) -> Option<(&'r RowKey, Error)> {
        refusals.iter().find_map(|(key, link, target)| {
            let image = writes.get(key)?.after.as_ref()?;
            self.refers(image, link, target).then(|| (key, self.in_use(target, link)))
        })
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

    /// Marks everything in the writes that is deleted and could be referred to.
    pub(crate) async fn mark(
        &self,
        writes: &WriteSet,
        attempt: &mut AttemptState,
    ) -> Result<Marked, Error> {
        let task = attempt.task.clone();
        let is_marked = |row: &OwnRow| task.as_ref().is_some_and(|task| task.has_marked(row));
        let deletions = writes.transitions().iter().filter(|member| member.after.is_none());
        let rows = deletions.filter(|member| self.is_referable(&member.key));
        let rows: Vec<&OwnRow> = rows
            .filter_map(|member| member.before.as_ref())
            .filter(|row| !is_marked(row))
            .collect();
        if rows.is_empty() {
            return Ok(Marked::Before);
        }
        let mut marked = attempt.marked.clone();
        marked.extend(rows.iter().map(|row| row.image.key.clone()));
        let (task, start) = match task {
            Some(task) => (task, is_in(DeletionState::Marking)),
            None => (Deletion { id: self.stamp()? }, Condition::missing(PARTITION)),
        };
        let mut planned = vec![self.row_of(&task, &marked, start)];
        planned.extend(rows.iter().map(|row| self.mark_own(row, &task)));
        match commit(self.store, planned).await? {
            Outcome::Done => (attempt.task, attempt.marked) = (Some(task), marked),
            _ => self.forget_called_off(attempt).await?,
        }
        Ok(Marked::Now)
    }

    /// Writes the row of a task that begins.
    pub(crate) fn start_of(&self, task: &Deletion, root: &EntityKey) -> PlannedAction {
        self.row_of(task, std::slice::from_ref(root), Condition::missing(PARTITION))
    }

    fn row_of(&self, task: &Deletion, roots: &[EntityKey], when: Condition) -> PlannedAction {
        let mut item = deletion_key(&task.id).to_item();
        item.insert(DeletionState::ATTRIBUTE, DeletionState::Marking.to_value());
        let root = |key| Value::B(self.layouts.current.entity_partition(key).into_vec());
        item.insert(ROOTS, Value::L(roots.iter().map(root).collect()));
        PlannedAction::or_changed(TransactAction::Put(Put::new(self.table, item).when(when)))
    }

    /// The entities from which everything that a task has marked can be reached.
    pub(crate) fn roots_of(&self, row: &Item) -> Vec<EntityKey> {
        let Some(Value::L(roots)) = row.get(ROOTS) else { return vec![] };
        let root = |root: &Value| self.layouts.current.entity_key(root.as_b()?);
        roots.iter().filter_map(root).collect()
    }

    /// Removes the row of a task that nobody has called off.
    pub(crate) fn end_of(&self, task: &Deletion) -> PlannedAction {
        let delete = Delete::new(self.table, deletion_key(&task.id).to_item());
        let delete = delete.when(is_in(DeletionState::Marking));
        PlannedAction::or_changed(TransactAction::Delete(delete))
    }

    pub(crate) fn mark_own(&self, row: &OwnRow, task: &Deletion) -> PlannedAction {
        let key = self.own_key(&row.image.key).to_item();
        let mark = Update::new().set(Path::from(DELETION), Value::from(task.id.as_str()));
        let update = UpdateItem::new(self.table, key, mark).when(as_read(row));
        PlannedAction::or_changed(TransactAction::Update(update))
    }

    /// Calls a deletion off that has not been decided; false if it has been, or is gone.
    pub(crate) async fn call_off(&self, task: &str) -> Result<bool, Error> {
        let task = Deletion { id: task.to_owned() };
        self.turn(&task, (DeletionState::Marking, DeletionState::CalledOff)).await
    }

    /// Gives the deletion of this call up.
    pub(crate) async fn abandon(&self, attempt: &mut AttemptState) {
        let marked = std::mem::take(&mut attempt.marked);
        if let Some(task) = attempt.task.take() {
            // If this fails, whoever meets a mark of the task calls it off.
            let _ = self.take_back(&task.id, &marked).await;
        }
    }

    /// Whether one that refers goes with its target: as the reference says, and in any case if it
    /// has expired. Nobody sees that any more, so it holds nothing.
    pub(crate) fn goes_with(&self, link: &Link, owner: &OwnRow) -> bool {
        match link.on_delete {
            OnDelete::Cascade => true,
            OnDelete::Refuse => self.is_expired(owner),
            OnDelete::Clear | OnDelete::Keep => false,
        }
    }

    /// If others have called the deletion of this call off, it begins anew.
    pub(crate) async fn forget_called_off(&self, attempt: &mut AttemptState) -> Result<(), Error> {
        let Some(task) = attempt.task.clone() else { return Ok(()) };
        match self.reader().deletion_state(&task.id).await? {
            None | Some(DeletionState::CalledOff) => {
                self.take_back(&task.id, &attempt.marked).await?;
                attempt.void.push(task.id);
                (attempt.task, attempt.marked) = (None, vec![]);
            }
            Some(DeletionState::Marking | DeletionState::Sweeping) => {}
        }
        Ok(())
    }

    /// Whether an entity refers to another one with a field.
    pub(crate) fn refers(&self, image: &Image, link: &Link, target: &EntityKey) -> bool {
        let name = &self.entity(&image.key).field(link.field).name;
        image.fields.get(name).and_then(Value::as_s) == Some(target.id.as_str())
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
