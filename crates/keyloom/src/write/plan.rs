//! Turns transitions into the difference that one transaction writes: rows(after) − rows(before),
//! with postings and counters. The only place where derived rows become writes. Pure: it reads
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::{DELETION, OWNER, PARTITION, PENDING, REVISION, VERSION};
use keyloom_model::{
    Addend, EntityId, EntityKey, FieldId, Image, OwnRow, Pending, Reason, Row, RowKey,
};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::{
    Check, Delete, Membership, OnFailure, Put, SetChange, SetName, TableName, TransactAction,
};
use keyloom_value::{Comparison, Condition, Item, Path, Value};

use super::counters::Counters;
use super::deltas::{OrdinalOwner, PlannedDelta};
use super::difference::{ACTIONS_MAX, Difference};
use super::planned_action::{OnConflict, PlannedAction};
use super::transition::{References, TombstoneChange, Tombstones, Transition};
use super::write_set::Footprint;
use crate::error::Error;
use crate::schema::Layouts;

/// How many posting rows of earlier versions one transaction removes.
const OLD_POSTINGS_MAX: usize = 60;

/// Plans transactions.
pub(crate) struct Planner<'a> {
    pub(crate) layouts: &'a Layouts,
    pub(crate) table: &'a TableName,
    /// Whether the store adds to counters, so that they take no actions.
    pub(crate) adds_numbers: bool,
    /// How many actions of a transaction are not available.
    pub(crate) reserved: usize,
    pub(crate) now_ms: i64,
    /// Deletions that are known to be canceled: their tombstones are void.
    pub(crate) called_off: &'a [String],
}

/// A transition, and the tombstones of its entity afterwards.
struct Step<'t> {
    transition: &'t Transition,
    tombstones: Tombstones,
}

/// The rows of all transitions before, or after, by key.
type Rows<'t> = BTreeMap<RowKey, (Row, &'t Transition)>;

impl Planner<'_> {
    /// Returns the difference that applies all transitions.
    ///
    /// # Errors
    ///
    /// If two of them want the same unique value, or one refers to what another deletes, or a key
    /// is too long.
    pub(crate) fn plan(&self, transitions: &[Transition]) -> Result<Difference, Error> {
        let steps = transitions.iter();
        let steps = steps
            .map(|transition| Step { transition, tombstones: self.tombstones_after(transition) });
        let steps: Vec<Step<'_>> = steps.collect();
        let mut actions = self.rows(&steps)?;
        actions.extend(self.check_targets(transitions)?);
        actions.extend(self.check_undecided(&steps));
        let (postings, deltas) = (self.postings(&steps)?, self.deltas(&steps)?);
        Ok(Difference { actions, postings, deltas, counters: self.counters(&steps)? })
    }

    /// Returns the difference of a transaction whose read set must be unchanged.
    pub(crate) fn plan_transaction(&self, footprint: &Footprint<'_>) -> Result<Difference, Error> {
        let mut difference = self.plan(footprint.writes.transitions())?;
        difference.actions.extend(footprint.numbers.actions.iter().cloned());
        for row in &footprint.reads {
            let key = self.layouts.current.own_key(&row.image.key);
            if footprint.writes.get(&key).is_none() {
                self.check_unchanged(&key, row, &mut difference.actions);
            }
        }
        Ok(difference)
    }

    /// Splits transitions into batches that each fit into one transaction with this many other
    /// actions. Transitions that cannot be planned together are in batches of one.
    pub(crate) fn batches<'t>(
        &self,
        transitions: &'t [Transition],
        others: usize,
    ) -> Vec<&'t [Transition]> {
        let others = others + self.reserved;
        let fits = |some: &[Transition]| self.plan(some).is_ok_and(|plan| plan.fits(others));
        let (mut batches, mut rest) = (vec![], transitions);
        while !rest.is_empty() {
            let mut length = rest.len().min(ACTIONS_MAX);
            while length > 1 && !fits(&rest[..length]) {
                length /= 2;
            }
            let (batch, after) = rest.split_at(length);
            batches.push(batch);
            rest = after;
        }
        batches
    }

    /// Plans the rows that are added, removed and changed.
    fn rows(&self, steps: &[Step<'_>]) -> Result<Vec<PlannedAction>, Error> {
        let (before, after) = (self.rows_before(steps)?, self.rows_after(steps)?);
        let gone = before.iter().filter(|(key, _)| !after.contains_key(key));
        let mut postings = 0;
        // Nothing reads the posting rows of earlier versions. Those for which there is no room stay, and
        // are removed by `verify`.
        let mut has_room = |row: &Row| {
            postings += usize::from(row.reason == Reason::Posting);
            row.reason != Reason::Posting || postings <= OLD_POSTINGS_MAX
        };
        let gone = gone.filter(|(_, (row, _))| has_room(row));
        let mut actions: Vec<PlannedAction> =
            gone.map(|(_, (row, transition))| self.delete(row, transition)).collect();
        for (key, (row, transition)) in after {
            let old = before.get(&key).map(|(row, _)| row);
            actions.extend(self.put(row, old, transition));
        }
        Ok(actions)
    }

    fn rows_before<'t>(&self, steps: &[Step<'t>]) -> Result<Rows<'t>, Error> {
        let mut before = Rows::new();
        for Step { transition, .. } in steps {
            let Some(old) = &transition.before else { continue };
            for row in self.layouts.rows_before(old)? {
                before.insert(row.key.clone(), (row, *transition));
            }
        }
        Ok(before)
    }

    fn rows_after<'t>(&self, steps: &[Step<'t>]) -> Result<Rows<'t>, Error> {
        let mut after = Rows::new();
        for Step { transition, tombstones } in steps {
            let Some(new) = &transition.after else { continue };
            let Tombstones { deletion, pending } = tombstones;
            for row in self.layouts.rows_after(new, deletion.as_deref(), pending)? {
                let reason = row.reason;
                let Some((_, other)) = after.insert(row.key.clone(), (row, *transition)) else {
                    continue;
                };
                return Err(match reason {
                    Reason::Guard(unique) => {
                        let by = (other.key != transition.key).then_some(&other.key);
                        self.layouts.taken(new.key.entity, unique, by)
                    }
                    Reason::Own | Reason::Link(_) | Reason::Presence | Reason::Posting => {
                        Error::SameTwice { id: new.key.id.clone() }
                    }
                });
            }
        }
        Ok(after)
    }

    /// Removes a row that does not exist afterwards.
    fn delete(&self, row: &Row, transition: &Transition) -> PlannedAction {
        let delete = Delete::new(self.table, row.key.to_item());
        match row.reason {
            Reason::Own => {
                let delete = delete.when(unchanged(transition));
                PlannedAction::or_changed(TransactAction::Delete(delete))
            }
            Reason::Guard(_) => {
                let mine = Condition::missing(PARTITION).or(owned_by(row));
                let on_conflict = OnConflict::NotMine { owner: transition.key.clone() };
                PlannedAction { action: TransactAction::Delete(delete.when(mine)), on_conflict }
            }
            // The condition of the own row covers it.
            Reason::Link(_) | Reason::Presence | Reason::Posting => {
                PlannedAction::or_changed(TransactAction::Delete(delete))
            }
        }
    }

    /// Writes a row that exists afterwards, unless it exists already.
    fn put(&self, row: Row, old: Option<&Row>, transition: &Transition) -> Option<PlannedAction> {
        let is_there = old.is_some_and(|old| old.item == row.item);
        match row.reason {
            Reason::Own => {
                let put = Put::new(self.table, row.item).when(unchanged(transition));
                Some(PlannedAction::or_changed(TransactAction::Put(put)))
            }
            Reason::Guard(_) | Reason::Link(_) | Reason::Presence | Reason::Posting if is_there => {
                None
            }
            Reason::Guard(unique) => {
                // Another entity of the same transaction may release it.
                let free = Condition::missing(PARTITION).or(owned_by(old.unwrap_or(&row)));
                let mut put = Put::new(self.table, row.item).when(free);
                put.on_failure = OnFailure::ReturnItem;
                let on_conflict =
                    OnConflict::UniqueViolation { by: transition.key.clone(), unique };
                Some(PlannedAction { action: TransactAction::Put(put), on_conflict })
            }
            // The condition of the own row covers it.
            Reason::Link(_) | Reason::Presence | Reason::Posting => {
                Some(PlannedAction::or_changed(TransactAction::Put(Put::new(self.table, row.item))))
            }
        }
    }

    /// Plans the posting lists that entities join and leave.
    fn postings(&self, steps: &[Step<'_>]) -> Result<Vec<SetChange>, Error> {
        let mut changes: BTreeMap<(SetName, Membership), Vec<u64>> = BTreeMap::new();
        let mut note = |(set, ordinal), becomes| {
            changes.entry((set, becomes)).or_default().push(ordinal);
        };
        for Step { transition, tombstones } in steps {
            let before = transition.before.as_ref().map(|row| self.layouts.sets_before(row));
            let mut before = BTreeSet::from_iter(before.transpose()?.unwrap_or_default());
            let after = transition.after.as_ref();
            let after = after.map(|new| self.layouts.sets_after(new, &tombstones.pending));
            for posting in after.transpose()?.unwrap_or_default() {
                if !before.remove(&posting) {
                    note(posting, Membership::In);
                }
            }
            before.into_iter().for_each(|posting| note(posting, Membership::Out));
        }
        let change = |((set, becomes), ordinals)| SetChange {
            table: self.table.clone(),
            set,
            ordinals,
            becomes,
        };
        Ok(changes.into_iter().map(change).collect())
    }

    /// Plans the deltas of entities that join or leave posting lists which are kept as chunks.
    fn deltas(&self, steps: &[Step<'_>]) -> Result<Vec<PlannedDelta>, Error> {
        let mut deltas = vec![];
        for Step { transition, tombstones } in steps {
            let before = transition.before.as_ref().map(|row| self.layouts.chunked_before(row));
            let before = before.transpose()?.unwrap_or_default();
            let after = transition.after.as_ref();
            let names = after.map(|new| self.layouts.chunked_after(new, &tombstones.pending));
            let names = names.transpose()?.unwrap_or_default();
            let image = after.or(transition.before.as_ref().map(|row| &row.image));
            let Some(ordinal) = image.and_then(|image| image.ordinal) else { continue };
            let joined: Vec<Vec<u8>> = names.difference(&before).cloned().collect();
            let left: Vec<Vec<u8>> = before.difference(&names).cloned().collect();
            if !joined.is_empty() || !left.is_empty() {
                let (entity, tenant) = (transition.key.entity, transition.key.tenant.as_ref());
                let owner = OrdinalOwner { entity, tenant, ordinal };
                deltas.push(PlannedDelta::new(&self.layouts.current, &owner, joined, left));
            }
        }
        Ok(deltas)
    }

    /// Sums up what the transitions add to counters.
    fn counters(&self, steps: &[Step<'_>]) -> Result<Counters, Error> {
        let mut counters = Counters::new(self.table, !self.adds_numbers);
        for Step { transition, tombstones } in steps {
            let before = transition.before.as_ref().map(|row| self.layouts.counters_before(row));
            let before = before.transpose()?.unwrap_or_default();
            if let Some(new) = &transition.after {
                let after = self.layouts.counters_after(new, &tombstones.pending)?;
                // A counter that it already contributes to needs no room, here or where it is copied from.
                let is_copied = transition.references == References::Copied;
                for Addend { counter, .. } in after.iter().filter(|_| !is_copied) {
                    let room = self.layouts.current.counters().check_room(new.key.entity, counter);
                    let is_known = || before.iter().any(|known| known.counter == *counter);
                    room.or_else(|error| is_known().then_some(()).ok_or(error))?;
                }
                counters.add(after);
            }
            counters.take(before);
        }
        Ok(counters)
    }

    /// Returns the tombstones of an entity after a transition.
    fn tombstones_after(&self, transition: &Transition) -> Tombstones {
        let Some(before) = &transition.before else {
            return match &transition.tombstones {
                TombstoneChange::Set(tombstones) => tombstones.clone(),
                TombstoneChange::Drop | TombstoneChange::Keep => {
                    Tombstones { deletion: None, pending: Pending::NONE }
                }
            };
        };
        let entity = self.layouts.current.model().entity(transition.key.entity);
        let is_same = |stored: &str| {
            let Some(field) = entity.find_stored(stored) else { return false };
            let field = &entity.field(field).name;
            let after = transition.after.as_ref().and_then(|after| after.fields.get(field));
            after.is_some() && after == before.image.fields.get(field)
        };
        let is_called_off = |by: &str| self.called_off.iter().any(|deletion| deletion == by);
        let kept = before.pending.clone();
        match &transition.tombstones {
            TombstoneChange::Set(tombstones) => tombstones.clone(),
            TombstoneChange::Drop => {
                let kept = kept.only_fields();
                let pending = kept.fields_if(|field, by| is_same(field) && !is_called_off(by));
                Tombstones { deletion: None, pending }
            }
            TombstoneChange::Keep => Tombstones {
                deletion: before.deletion.clone(),
                pending: kept.fields_if(|field, _| is_same(field)),
            },
        }
    }

    /// A write of an entity with a reference that a deletion will clear checks that the deletion was
    /// not applied.
    fn check_undecided(&self, steps: &[Step<'_>]) -> Vec<PlannedAction> {
        let mut deletions = BTreeSet::new();
        for Step { transition, tombstones } in steps {
            if transition.tombstones == TombstoneChange::Drop && transition.after.is_some() {
                let pending = tombstones.pending.deletions();
                deletions.extend(pending.into_iter().map(str::to_owned));
            }
        }
        let check = |deletion: String| {
            let state = Path::from(DeletionState::ATTRIBUTE);
            let check = Check {
                table: self.table.clone(),
                key: deletion_key(&deletion).to_item(),
                condition: Condition::equal(state, DeletionState::Marking.to_value()),
                on_failure: OnFailure::Nothing,
            };
            PlannedAction::or_changed(TransactAction::Check(check))
        };
        deletions.into_iter().map(check).collect()
    }

    /// Checks that an entity is unchanged since it was read.
    fn check_unchanged(&self, key: &RowKey, row: &OwnRow, actions: &mut Vec<PlannedAction>) {
        let key = key.to_item();
        let mut checks = actions.iter_mut().filter_map(|planned| match &mut planned.action {
            TransactAction::Check(check) => Some(check),
            TransactAction::Put(_) | TransactAction::Update(_) | TransactAction::Delete(_) => None,
        });
        // If another entity newly refers to it, its existence is checked already.
        if let Some(check) = checks.find(|check| check.key == key) {
            check.condition = check.condition.clone().and(as_read(row));
            return;
        }
        let (table, condition) = (self.table.clone(), as_read(row));
        let check = Check { table, key, condition, on_failure: OnFailure::Nothing };
        actions.push(PlannedAction::or_changed(TransactAction::Check(check)));
    }

    /// Checks that all new targets of references exist and are not being deleted.
    fn check_targets(&self, transitions: &[Transition]) -> Result<Vec<PlannedAction>, Error> {
        let mut checks: BTreeMap<RowKey, PlannedAction> = BTreeMap::new();
        for transition in transitions {
            let Some(after) = &transition.after else { continue };
            for (field, target) in self.new_targets(transition, after) {
                let gone = || self.layouts.target_gone(&after.key, field, &target);
                match transitions.iter().find(|other| other.key == target) {
                    Some(other) if other.after.is_some() => {}
                    Some(_) => return Err(gone()),
                    None => {
                        let references = self.layouts.current.references();
                        let key = references.presence_key(&target, &after.key.id);
                        let check = self.is_there(&key, &target);
                        let owner = after.key.clone();
                        let on_conflict = OnConflict::TargetGone { owner, field, target };
                        let action = TransactAction::Check(check);
                        checks.insert(key, PlannedAction { action, on_conflict });
                    }
                }
            }
        }
        Ok(checks.into_values().collect())
    }

    fn new_targets(&self, transition: &Transition, after: &Image) -> Vec<(FieldId, EntityKey)> {
        let (before, references) = (transition.before.as_ref(), transition.references);
        if references == References::Copied {
            return vec![];
        }
        let layout = &self.layouts.current;
        let entity = layout.model().entity(after.key.entity);
        let target = |(field, target, id): (FieldId, EntityId, &str)| {
            let tenant = after.key.tenant.clone().filter(|_| layout.has_tenant(target));
            (field, EntityKey { entity: target, tenant, id: id.to_owned() })
        };
        let linked = layout.references().of(after.key.entity).iter().filter_map(|link| {
            let name = &entity.field(link.field).name;
            let id = after.fields.get(name)?;
            let unchanged = before.is_some_and(|old| old.image.fields.get(name) == Some(id));
            (!unchanged).then_some((link.field, link.target, id.as_s()?))
        });
        // Elements that were in a list before may be deleted, and stay in it.
        let listed = entity.reference_lists().filter(|_| references == References::Checked);
        let listed = listed.flat_map(|(field, target)| {
            let name = &entity.field(field).name;
            let old = before.map(|old| elements(&old.image.fields, name)).unwrap_or_default();
            let new = elements(&after.fields, name).iter().filter(move |id| !old.contains(id));
            new.filter_map(move |id| Some((field, target, id.as_s()?)))
        });
        linked.chain(listed).map(target).collect()
    }

    /// Checks that a target exists, is not being deleted and has not expired: by its own row, or by a
    /// presence row, which goes with a tombstone.
    fn is_there(&self, key: &RowKey, target: &EntityKey) -> Check {
        let mut unmarked = Condition::missing(DELETION);
        for deletion in self.called_off {
            let deletion = Value::from(deletion.as_str());
            unmarked = unmarked.or(Condition::equal(Path::from(DELETION), deletion));
        }
        let mut condition = Condition::exists(PARTITION).and(unmarked);
        let entity = self.layouts.current.model().entity(target.entity);
        if let Some(field) = entity.expires {
            let field = Path::from(entity.field(field).stored.as_str());
            let later =
                Condition::compare(field.clone(), Comparison::Greater, Value::from(self.now_ms));
            let mut lives = Condition::missing(field).or(later);
            if let Some(default) = self.layouts.current.expiry().default(target.entity)
                && default.time_ms <= self.now_ms
            {
                // Rows that are older than the field have expired by its default.
                let oldest = Value::from(u64::from(default.revision));
                let is_newer =
                    Condition::compare(Path::from(REVISION), Comparison::Greater, oldest);
                lives = lives.and(is_newer);
            }
            condition = condition.and(lives);
        }
        let table = self.table.clone();
        Check { table, key: key.to_item(), condition, on_failure: OnFailure::Nothing }
    }
}

/// Returns the elements of a list; none if it is absent.
fn elements<'f>(fields: &'f Item, name: &str) -> &'f [Value] {
    match fields.get(name) {
        Some(Value::L(elements)) => elements,
        _ => &[],
    }
}

/// The own row of a transition is unchanged since it was read, or still does not exist.
fn unchanged(transition: &Transition) -> Condition {
    transition.before.as_ref().map_or_else(|| Condition::missing(PARTITION), as_read)
}

/// The own row is exactly what was read, by its version, revision and tombstones.
pub(crate) fn as_read(row: &OwnRow) -> Condition {
    let tombstone = match &row.deletion {
        None => Condition::missing(DELETION),
        Some(deletion) => Condition::equal(Path::from(DELETION), Value::from(deletion.as_str())),
    };
    let pending = match row.pending.is_empty() {
        true => Condition::missing(PENDING),
        false => Condition::equal(Path::from(PENDING), row.pending.to_value()),
    };
    Condition::equal(Path::from(VERSION), Value::from(row.image.version.as_str()))
        .and(Condition::equal(Path::from(REVISION), Value::from(u64::from(row.revision))))
        .and(tombstone)
        .and(pending)
}

fn owned_by(row: &Row) -> Condition {
    let owner = row.item.get(OWNER).cloned().unwrap_or(Value::Null);
    Condition::equal(Path::from(OWNER), owner)
}
