//! Deletions that do not fit into one transaction. See `delete.rs` for the states.
//!
//! Everything that goes is reached from the root over references that cascade. Marking walks from
//! the root outward, and also marks what stays and refers to what goes, with the references that are
//! to be cleared. Marks change nothing that is seen. Then one change of the deletion's record makes
//! everything vanish at once: `Pending` says what a mark implies, and readers leave it out. What is
//! left to do is to remove it: references first, then entities, the outermost first, so that the
//! rest can always be reached from the root, whoever goes on with it.

use std::collections::HashSet;

use keyloom_model::{EntityKey, Link, OnDelete, OwnRow, RowKey};
use keyloom_query::{DeletionState, LinkRow, deletion_key};
use keyloom_store::{Delete, Get, TransactAction, UpdateItem};
use keyloom_value::{Path, Update, Value};

use crate::error::Error;
use crate::write::AttemptState;
use crate::write::PlannedAction;
use crate::write::{ATTEMPTS_MAX, TombstoneChange, Transition, WriteContext};
use crate::write::{Deletion, LINKS_PAGE, is_in};
use crate::write::{Outcome, commit};

/// Of a deletion's record: how many entities are still to be removed, and references to be cleared.
pub(crate) const LEFT: &str = "left";
/// Of a deletion's record: how many there were.
pub(crate) const TOTAL: &str = "total";
/// Of a deletion's record: the own row of the entity whose deletion was asked for.
pub(crate) const ROOT: &str = "root";

/// One that refers to what is being deleted.
pub(crate) struct Referrer {
    pub(crate) link: Link,
    pub(crate) row: OwnRow,
}

/// What a deletion takes from an entity.
#[derive(Clone, Debug)]
enum Take {
    /// The entity whose deletion was asked for.
    Root,
    /// The entity, as long as it refers to this one.
    Entity(Link, EntityKey),
    /// The reference to this one.
    Reference(Link, EntityKey),
}

impl WriteContext<'_> {
    /// Deletes an entity, if it has the expected version, and everything that goes with it.
    pub(crate) async fn delete_at_length(
        &self,
        (root, expected): (&EntityKey, Option<&str>),
        asked: &AttemptState,
    ) -> Result<(), Error> {
        for _ in 0..ATTEMPTS_MAX {
            let task = Deletion { id: self.stamp()? };
            let _running = self.running.begin(&task.id);
            commit(self.store, vec![self.start_of(&task, root)]).await?;
            let mut roots = vec![root.clone()];
            let decided = self.decide_deletion(&task, (&mut roots, expected), asked).await;
            match decided {
                Ok(true) => return self.resume(&task.id).await,
                // Somebody needed one of the entities.
                Ok(false) => self.take_back(&task.id, &roots).await?,
                Err(error) => {
                    // If this fails, whoever meets a mark of the task calls it off.
                    let _ = self.take_back(&task.id, &roots).await;
                    return Err(error);
                }
            }
        }
        Err(Error::Contended)
    }

    /// Removes what a deletion has taken that has happened; one that is not there is at its end.
    pub(crate) async fn resume(&self, task: &str) -> Result<(), Error> {
        let _running = self.running.begin(task);
        let row = self.store.get(Get::new(self.table, deletion_key(task).to_item())).await?;
        let Some(row) = row else { return Ok(()) };
        let root = self.roots_of(&row).into_iter().next().ok_or_else(|| {
            Error::damaged(format!("The deletion `{task}` does not say what it deletes."))
        })?;
        let state = DeletionState::read(&row).map_err(|_| {
            Error::damaged(format!("The state of the deletion `{task}` cannot be read."))
        })?;
        if state != DeletionState::Sweeping {
            return Ok(());
        }
        let task = Deletion { id: task.to_owned() };
        self.clear_all(&task, &root).await?;
        self.sweep(&task, &root).await?;
        let end = Delete::new(self.table, deletion_key(&task.id).to_item());
        self.store.delete(end).await?;
        Ok(())
    }

    /// Removes one entity that a deletion has taken which has happened, with everything that goes
    /// because it goes: then its id and its unique values are free, and nobody who takes them inherits
    /// a reference. All that is left still does not refer to it, so it is reached from the root as
    /// before.
    pub(crate) async fn finish(&self, task: &str, key: &EntityKey) -> Result<(), Error> {
        let _running = self.running.begin(task);
        let task = Deletion { id: task.to_owned() };
        self.clear_all(&task, key).await?;
        self.sweep(&task, key).await
    }

    /// Marks everything, makes sure that nothing refuses, and lets it happen. False if it was called
    /// off. To the first of the roots, which is deleted, those are added that others can refer to:
    /// what is marked behind them is found there if they have moved away.
    async fn decide_deletion(
        &self,
        task: &Deletion,
        (roots, expected): (&mut Vec<EntityKey>, Option<&str>),
        asked: &AttemptState,
    ) -> Result<bool, Error> {
        let Some(root) = &roots.first().cloned() else { return Ok(false) };
        let mut attempt = AttemptState { task: Some(task.clone()), ..AttemptState::default() };
        let row = self.at_version(root, self.read(root, &mut attempt).await?, expected)?;
        let version = row.image.version.clone();
        if !self.mark_some(task, vec![(row, Take::Root)], &mut attempt).await? {
            return Ok(false);
        }
        // Whoever changed it before it was marked comes before the deletion.
        let now = self.reader().get_any(root).await?;
        self.at_version(root, now.clone(), expected.map(|_| version.as_str()))?;
        let is_whole =
            self.mark_all(task, roots, &mut attempt).await? && self.refuse_all(task, root).await?;
        if !is_whole {
            return Ok(false);
        }
        let mut decision = vec![self.happening(task, (root, now.as_ref()))?];
        decision.extend(self.receipt_of(asked.ticket.as_ref(), &[None])?);
        decision.extend(asked.piggybacked.iter().cloned());
        Ok(matches!(commit(self.store, decision).await?, Outcome::Done))
    }

    /// The one change that makes everything vanish that is marked.
    fn happening(
        &self,
        task: &Deletion,
        (root, row): (&EntityKey, Option<&OwnRow>),
    ) -> Result<PlannedAction, Error> {
        let state = Path::from(DeletionState::ATTRIBUTE);
        let mut update = Update::new().set(state, DeletionState::Sweeping.to_value());
        if let Some(row) = row {
            let own = self.layouts.rows_before(row)?;
            let own = own.into_iter().find(|implied| implied.key == self.own_key(root));
            if let Some(own) = own {
                update = update.set(Path::from(ROOT), Value::M(own.item));
            }
        }
        let key = deletion_key(&task.id).to_item();
        let update = UpdateItem::new(self.table, key, update).when(is_in(DeletionState::Marking));
        Ok(PlannedAction::or_changed(TransactAction::Update(update)))
    }

    /// Marks everything that goes with the root, and what is to be cleared. False if it was called
    /// off.
    async fn mark_all(
        &self,
        task: &Deletion,
        roots: &mut Vec<EntityKey>,
        attempt: &mut AttemptState,
    ) -> Result<bool, Error> {
        let mut frontier = roots.clone();
        while let Some(target) = frontier.pop() {
            let mut after = None;
            loop {
                let page = self.reader().links(&target, after.as_ref(), LINKS_PAGE).await?;
                let mut rows = vec![];
                for LinkRow { field, owner, .. } in page.links {
                    let Some(link) = self.link(&owner, field) else { continue };
                    let Some(row) = self.read(&owner, attempt).await? else { continue };
                    let take = match link.on_delete {
                        OnDelete::Clear => Take::Reference(link, target.clone()),
                        OnDelete::Cascade | OnDelete::Refuse | OnDelete::Keep => {
                            Take::Entity(link, target.clone())
                        }
                    };
                    if self.marked(&row, &take, task, attempt).is_some() {
                        rows.push((row, take));
                    }
                }
                let goes = |(row, take): &(OwnRow, Take)| {
                    let goes =
                        matches!(take, Take::Entity(..)) && self.is_referable(&row.image.key);
                    goes.then(|| row.image.key.clone())
                };
                let inner: Vec<EntityKey> = rows.iter().filter_map(goes).collect();
                roots.extend(inner.iter().cloned());
                if !self.mark_some(task, rows, attempt).await? {
                    return Ok(false);
                }
                frontier.extend(inner);
                match page.next {
                    None => break,
                    next => after = next,
                }
            }
        }
        Ok(true)
    }

    /// The marks that a row gets; none if nothing is to be taken from it, or it has them.
    fn marked(
        &self,
        row: &OwnRow,
        take: &Take,
        task: &Deletion,
        attempt: &AttemptState,
    ) -> Option<TombstoneChange> {
        let is_void = |by: &str| attempt.void.iter().any(|void| void == by);
        let others = row.pending.clone().fields_if(|_, by| !is_void(by));
        let others = match others.entity() {
            Some(by) if by != task.id => others.only_fields(),
            Some(_) | None => others,
        };
        let id = task.id.as_str();
        match take {
            Take::Root => Some(TombstoneChange::Set(Some(id.to_owned()), others.with_root(id))),
            Take::Entity(link, target) => {
                let goes = self.refers(&row.image, link, target) && self.goes_with(link, row);
                let is_new = goes && !task.has_marked(row);
                is_new.then(|| TombstoneChange::Set(Some(id.to_owned()), others.with_entity(id)))
            }
            Take::Reference(link, target) => {
                let field = &self.entity(&row.image.key).field(link.field).name;
                let is_new = self.refers(&row.image, link, target)
                    && !task.has_marked(row)
                    && row.pending.field(field) != Some(id);
                is_new.then(|| TombstoneChange::Set(None, others.with_field(field, id)))
            }
        }
    }

    /// Marks rows, with everything that the marks imply: together, and one by one where others come
    /// between. False if the deletion was called off.
    async fn mark_some(
        &self,
        task: &Deletion,
        rows: Vec<(OwnRow, Take)>,
        attempt: &mut AttemptState,
    ) -> Result<bool, Error> {
        let (mut transitions, mut met, mut left) = (vec![], HashSet::new(), HashSet::new());
        for (row, take) in &rows {
            let key = self.own_key(&row.image.key);
            match self.marked(row, take, task, attempt) {
                None => {}
                // One that refers twice is marked once more, as it is then.
                Some(_) if !met.insert(key.clone()) => drop(left.insert(key)),
                Some(mark) => transitions.push(self.with_marks(row.clone(), mark).await?),
            }
        }
        for some in self.batches(&transitions, 1) {
            if !self.commit_marked(task, some, attempt).await? {
                left.extend(some.iter().map(|member| self.own_key(&member.key)));
            }
        }
        for (row, take) in rows {
            let is_left = left.contains(&self.own_key(&row.image.key));
            if is_left && !self.mark_one(task, (&row.image.key, &take), attempt).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn mark_one(
        &self,
        task: &Deletion,
        (key, take): (&EntityKey, &Take),
        attempt: &mut AttemptState,
    ) -> Result<bool, Error> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(row) = self.read(key, attempt).await? else { return Ok(true) };
            let Some(mark) = self.marked(&row, take, task, attempt) else { return Ok(true) };
            let marked = self.with_marks(row, mark).await?;
            if self.commit_marked(task, &[marked], attempt).await? {
                return Ok(true);
            }
            if self.reader().deletion_state(&task.id).await? != Some(DeletionState::Marking) {
                return Ok(false);
            }
        }
        Err(Error::Contended)
    }

    async fn commit_marked(
        &self,
        task: &Deletion,
        marked: &[Transition],
        attempt: &AttemptState,
    ) -> Result<bool, Error> {
        // One that goes and has lost a reference to what goes is done at once.
        let is_new = |member: &&Transition| {
            let before = member.before.as_ref().map(|row| row.pending.deletions());
            !before.is_some_and(|before| before.contains(task.id.as_str()))
        };
        let count = marked.iter().filter(is_new).count();
        let mut plan = self.planner(&attempt.void).plan(marked)?;
        plan.actions.push(self.more_left(task, count));
        Ok(matches!(commit(self.store, plan).await?, Outcome::Done))
    }

    /// The same entity with other marks.
    pub(crate) async fn with_marks(
        &self,
        row: OwnRow,
        mark: TombstoneChange,
    ) -> Result<Transition, Error> {
        let after = Some(self.layouts.upgraded(row.clone()));
        let mut transition = Transition::new(row.image.key.clone(), Some(row), after);
        transition.mark = mark;
        self.number(&mut transition).await?;
        Ok(transition)
    }

    /// The key of the copy that stands with the parent.
    pub(crate) fn copy_key(&self, row: &OwnRow) -> Option<RowKey> {
        let entity = self.entity(&row.image.key);
        let field = entity.parent?;
        let link = self.link(&row.image.key, field)?;
        let parent = row.image.fields.get(&entity.field(field).name)?.as_s()?;
        Some(self.layouts.current.link_key(&link, parent, &row.image.key))
    }

    /// Fails if something that stays refuses that its target goes. False if something has lost its
    /// mark: then the marks are not whole.
    async fn refuse_all(&self, task: &Deletion, root: &EntityKey) -> Result<bool, Error> {
        let mut walk = Walk::new(root.clone());
        while let Some((target, referrers)) = walk.next(self, task).await? {
            for Referrer { link, row } in referrers {
                if task.has_marked(&row) || !self.refers(&row.image, &link, &target) {
                    continue;
                }
                let field = &self.entity(&row.image.key).field(link.field).name;
                match link.on_delete {
                    OnDelete::Refuse => return Err(self.in_use(&target, &link)),
                    OnDelete::Cascade => return Ok(false),
                    OnDelete::Clear if row.pending.field(field) != Some(&task.id) => {
                        return Ok(false);
                    }
                    OnDelete::Clear | OnDelete::Keep => {}
                }
            }
        }
        Ok(true)
    }

    /// Clears every reference that is to be cleared, in what stays.
    async fn clear_all(&self, task: &Deletion, root: &EntityKey) -> Result<(), Error> {
        let mut walk = Walk::new(root.clone());
        while let Some((_, referrers)) = walk.next(self, task).await? {
            let stays = |one: &Referrer| {
                one.link.on_delete == OnDelete::Clear && !task.has_marked(&one.row)
            };
            let rows: Vec<OwnRow> =
                referrers.into_iter().filter(stays).map(|one| one.row).collect();
            let mut cleared = vec![];
            for row in &rows {
                cleared.extend(self.cleared(task, row.clone()).await?);
            }
            for some in self.batches(&cleared, 2) {
                if !self.commit_cleared(task, some).await? {
                    for member in some {
                        self.clear(task, &member.key).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Clears the references of one entity that a deletion has taken. Only as long as its record
    /// says so: later, what they referred to can be another one with the same id.
    pub(crate) async fn clear(&self, task: &Deletion, key: &EntityKey) -> Result<(), Error> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(row) = self.reader().get_any(key).await? else { return Ok(()) };
            let state = self.reader().deletion_state(&task.id).await?;
            let Some(cleared) = self.cleared(task, row).await? else { return Ok(()) };
            if state != Some(DeletionState::Sweeping)
                || self.commit_cleared(task, &[cleared]).await?
            {
                return Ok(());
            }
        }
        Err(Error::Contended)
    }

    /// The entity without the references that a deletion has taken; none if it has none.
    async fn cleared(&self, task: &Deletion, row: OwnRow) -> Result<Option<Transition>, Error> {
        if !row.pending.fields().any(|(_, by)| by == task.id) {
            return Ok(None);
        }
        let image = self.layouts.upgraded(row.clone());
        // What takes the entity itself is not asked about here.
        let fields = row.pending.clone().only_fields();
        let after = fields.settled(&image, |by| by == task.id);
        let mut transition = Transition::new(row.image.key.clone(), Some(row), after);
        transition.mark = TombstoneChange::Keep;
        self.number(&mut transition).await?;
        Ok(Some(transition))
    }

    async fn commit_cleared(&self, task: &Deletion, cleared: &[Transition]) -> Result<bool, Error> {
        let mut plan = self.planner(&[]).plan(cleared)?;
        plan.actions.push(self.less_left(task, cleared.len()));
        Ok(matches!(commit(self.store, plan).await?, Outcome::Done))
    }

    /// So many more are marked; and nobody has called the deletion off.
    fn more_left(&self, task: &Deletion, count: usize) -> PlannedAction {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let update = Update::new().add(Path::from(TOTAL), Value::from(count));
        self.add_left(task, (update, count), DeletionState::Marking)
    }

    /// So many are done; and the deletion has happened and is not at its end.
    fn less_left(&self, task: &Deletion, count: usize) -> PlannedAction {
        let change = -i64::try_from(count).unwrap_or(i64::MAX);
        self.add_left(task, (Update::new(), change), DeletionState::Sweeping)
    }

    fn add_left(
        &self,
        task: &Deletion,
        (update, change): (Update, i64),
        state: DeletionState,
    ) -> PlannedAction {
        let update = update.add(Path::from(LEFT), Value::from(change));
        let key = deletion_key(&task.id).to_item();
        let update = UpdateItem::new(self.table, key, update).when(is_in(state));
        PlannedAction::or_changed(TransactAction::Update(update))
    }

    /// Removes everything that is marked, the outermost first.
    async fn sweep(&self, task: &Deletion, root: &EntityKey) -> Result<(), Error> {
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
            if self.remove(task, &rows).await? {
                failures = 0;
                path.truncate(path.len() - usize::from(is_last));
                continue;
            }
            // Another one may be sweeping too and have been faster: then look again.
            if self.reader().deletion_state(&task.id).await?.is_none() {
                return Ok(());
            }
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
        task: &Deletion,
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
    async fn remove(&self, task: &Deletion, rows: &[OwnRow]) -> Result<bool, Error> {
        let transitions: Vec<_> = rows.iter().cloned().map(Transition::delete).collect();
        for some in self.batches(&transitions, 1) {
            let mut plan = self.planner(&[]).plan(some)?;
            plan.actions.push(self.less_left(task, some.len()));
            if !matches!(commit(self.store, plan).await?, Outcome::Done) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves a task from one state to the next; false if it was not in it.
    pub(crate) async fn turn(
        &self,
        task: &Deletion,
        (from, to): (DeletionState, DeletionState),
    ) -> Result<bool, Error> {
        let update = Update::new().set(Path::from(DeletionState::ATTRIBUTE), to.to_value());
        let key = deletion_key(&task.id).to_item();
        let update = UpdateItem::new(self.table, key, update).when(is_in(from));
        let planned = vec![PlannedAction::or_changed(TransactAction::Update(update))];
        Ok(matches!(commit(self.store, planned).await?, Outcome::Done))
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
        writes: &WriteContext<'_>,
        task: &Deletion,
    ) -> Result<Option<(EntityKey, Vec<Referrer>)>, Error> {
        let (target, after) = match self.page.take() {
            Some(page) => page,
            None => match self.frontier.pop() {
                Some(target) => (target, None),
                None => return Ok(None),
            },
        };
        let page = writes.reader().links(&target, after.as_ref(), LINKS_PAGE).await?;
        let mut referrers = vec![];
        for LinkRow { field, owner, .. } in page.links {
            let Some(link) = writes.link(&owner, field) else { continue };
            let Some(row) = writes.reader().get_any(&owner).await? else { continue };
            let is_marked = task.has_marked(&row);
            if is_marked && writes.is_referable(&owner) && self.met.insert(writes.own_key(&owner)) {
                self.frontier.push(owner);
            }
            referrers.push(Referrer { link, row });
        }
        self.page = page.next.map(|next| (target.clone(), Some(next)));
        Ok(Some((target, referrers)))
    }
}
