//! Taking back the marks of a deletion that was called off. They mean nothing any more; without
//! them, a row is again all that its entity implies and nothing more. The task goes last, so that a
//! crash between leaves nothing that nobody finds.

use std::collections::HashSet;

use keyloom_model::attribute::DELETION;
use keyloom_model::{EntityKey, OwnRow, RowKey};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::{Delete, TransactAction, UpdateItem};
use keyloom_value::{Condition, Path, Update, Value};

use super::sweep::Walk;
use crate::error::Error;
use crate::write::{ACTIONS_MAX, PlannedAction};
use crate::write::{ATTEMPTS_MAX, TombstoneChange, Transition, WriteContext};
use crate::write::{Deletion, is_in};
use crate::write::{Outcome, commit};

impl WriteContext<'_> {
    /// Calls a deletion off, unless it has been decided, and takes its marks back.
    pub(crate) async fn take_back(&self, task: &str, roots: &[EntityKey]) -> Result<(), Error> {
        if !self.call_off(task).await? {
            match self.reader().deletion_state(task).await? {
                None | Some(DeletionState::CalledOff) => {}
                Some(DeletionState::Marking | DeletionState::Sweeping) => return Ok(()),
            }
        }
        self.unmark(task, roots).await?;
        let end = Delete::new(self.table, deletion_key(task).to_item());
        let action = TransactAction::Delete(end.when(is_in(DeletionState::CalledOff)));
        commit(self.store, vec![PlannedAction::or_changed(action)]).await?;
        Ok(())
    }

    /// Takes back all marks of a task, as far as they can be reached from where it began.
    async fn unmark(&self, task: &str, roots: &[EntityKey]) -> Result<(), Error> {
        let task = Deletion { id: task.to_owned() };
        for root in roots {
            // The outermost first, so that what is left can be reached if this stops between: each
            // before the one over which it was reached.
            let (mut inner, mut met) =
                (vec![], HashSet::from([self.layouts.current.own_key(root)]));
            let mut walk = Walk::new(root.clone());
            while let Some((_, referrers)) = walk.next(self, &task).await? {
                let rows = referrers.into_iter().map(|one| one.row);
                let (referable, outer): (Vec<OwnRow>, Vec<OwnRow>) =
                    rows.partition(|row| self.is_referable(&row.image.key));
                self.unmark_rows(&outer, &task).await?;
                let keys = referable.into_iter().map(|row| row.image.key);
                inner.extend(keys.filter(|key| met.insert(self.layouts.current.own_key(key))));
            }
            for key in inner.iter().rev().chain([root]) {
                let row = self.reader().get_any(key).await?;
                self.unmark_rows(row.as_slice(), &task).await?;
            }
        }
        Ok(())
    }

    async fn unmark_rows(&self, rows: &[OwnRow], task: &Deletion) -> Result<(), Error> {
        let (large, rows): (Vec<&OwnRow>, Vec<&OwnRow>) =
            rows.iter().partition(|row| row.pending.deletions().contains(task.id.as_str()));
        self.unmark_large(&large, task).await?;
        let rows: Vec<&OwnRow> = rows.into_iter().filter(|row| task.has_marked(row)).collect();
        for some in rows.chunks(ACTIONS_MAX / 2) {
            let planned: Vec<PlannedAction> =
                some.iter().flat_map(|row| self.without_mark(row, task)).collect();
            if let Outcome::Done = commit(self.store, planned).await? {
                continue;
            }
            // One was written anew meanwhile, or its copy was never marked: one by one.
            for planned in some.iter().flat_map(|row| self.without_mark(row, task)) {
                commit(self.store, vec![planned]).await?;
            }
        }
        Ok(())
    }

    /// Takes back marks of a large deletion, with everything that they imply.
    async fn unmark_large(&self, rows: &[&OwnRow], task: &Deletion) -> Result<(), Error> {
        let mut transitions = vec![];
        for row in rows {
            transitions.extend(self.unmarked((*row).clone(), task).await?);
        }
        for some in self.batches(&transitions, 0) {
            if let Outcome::Done = self.commit_transitions(some, &[]).await? {
                continue;
            }
            for member in some {
                self.unmark_one(&member.key, &task.id).await?;
            }
        }
        Ok(())
    }

    /// Takes back the marks of a deletion on one entity.
    pub(crate) async fn unmark_one(&self, key: &EntityKey, task: &str) -> Result<(), Error> {
        let task = &Deletion { id: task.to_owned() };
        for _ in 0..ATTEMPTS_MAX {
            let Some(row) = self.reader().get_any(key).await? else { return Ok(()) };
            let Some(unmarked) = self.unmarked(row, task).await? else { return Ok(()) };
            if let Outcome::Done = self.commit_transitions(&[unmarked], &[]).await? {
                return Ok(());
            }
        }
        Err(Error::Contended)
    }

    /// The same entity without the marks of a deletion; none if it has none.
    async fn unmarked(&self, row: OwnRow, task: &Deletion) -> Result<Option<Transition>, Error> {
        let left = row.pending.clone().without(&task.id);
        if left == row.pending && !task.has_marked(&row) {
            return Ok(None);
        }
        let deletion = row.deletion.clone().filter(|deletion| *deletion != task.id);
        self.with_marks(row, TombstoneChange::Set(deletion, left)).await.map(Some)
    }

    fn without_mark(&self, row: &OwnRow, task: &Deletion) -> Vec<PlannedAction> {
        let own = self.own_key(&row.image.key);
        let keys = std::iter::once(own).chain(self.copy_key(row));
        let planned = |key: RowKey| {
            let is_marked = Condition::equal(Path::from(DELETION), Value::from(task.id.as_str()));
            let remove = Update::new().remove(Path::from(DELETION));
            let update = UpdateItem::new(self.table, key.to_item(), remove).when(is_marked);
            PlannedAction::or_changed(TransactAction::Update(update))
        };
        keys.map(planned).collect()
    }
}
