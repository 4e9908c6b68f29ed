//! From transitions to the actions of one transaction: rows(after) − rows(before). The only place
//! where derived rows become writes.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::{DELETION, OWNER, PARTITION, PENDING, REVISION, VERSION};
use keyloom_model::{
    EntityId, EntityKey, FieldId, Image, OwnRow, Pending, Reason, Row, RowKey, UniqueId,
};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::{
    Check, Delete, Membership, OnFailure, Put, SetChange, SetName, TableName, TransactAction,
};
use keyloom_value::{Comparison, Condition, Item, Path, Value};

use super::counters::Counters;
use super::{References, TombstoneChange, Transition};
use crate::error::Error;
use crate::schema::Layouts;

/// As many as one transaction can have.
pub(crate) const ACTIONS_MAX: usize = 100;
/// As many bytes as are put in one transaction, which can have 4 MB.
const BYTES_MAX: usize = 3 * 1024 * 1024;

/// Everything that one transaction does.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<PlannedAction>,
    /// Who joins and leaves which sets.
    pub(crate) sets: Vec<SetChange>,
    /// What is added to which numbers.
    pub(crate) counters: Counters,
}

impl Plan {
    /// How many actions it has, at most.
    pub(crate) fn rows_max(&self) -> usize {
        self.actions.len() + self.counters.rows_max()
    }

    /// Whether it goes into one transaction, with so many other actions.
    pub(crate) fn fits(&self, others: usize) -> bool {
        let put_bytes = |planned: &PlannedAction| match &planned.action {
            TransactAction::Put(put) => put.item.size(),
            TransactAction::Update(_) | TransactAction::Delete(_) | TransactAction::Check(_) => 0,
        };
        let put_bytes = self.actions.iter().map(put_bytes);
        let bytes: usize = put_bytes.chain(self.sets.iter().map(SetChange::bytes)).sum();
        self.rows_max() + others <= ACTIONS_MAX && bytes < BYTES_MAX
    }
}

impl From<Vec<PlannedAction>> for Plan {
    fn from(actions: Vec<PlannedAction>) -> Plan {
        Plan { actions, ..Plan::default() }
    }
}

/// One action, and what it means if its condition does not hold.
#[derive(Clone, Debug)]
pub(crate) struct PlannedAction {
    pub(crate) action: TransactAction,
    pub(crate) on_conflict: OnConflict,
}

impl PlannedAction {
    /// An action whose condition holds as long as what was read is not old.
    pub(crate) fn or_changed(action: TransactAction) -> PlannedAction {
        PlannedAction { action, on_conflict: OnConflict::Changed }
    }

    /// A row that goes along with changes; they do not happen if its condition does not hold.
    pub(crate) fn piggybacked(action: TransactAction) -> PlannedAction {
        PlannedAction { action, on_conflict: OnConflict::LostRace }
    }
}

/// What it means that a condition did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// The entity is not what was read: read it again.
    Changed,
    /// A value that the entity has is guarded for another one.
    NotMine { owner: EntityKey },
    /// Another entity has the value.
    UniqueViolation { by: EntityKey, unique: UniqueId },
    /// What it refers to is not there, or about to go.
    TargetGone { owner: EntityKey, field: FieldId, target: EntityKey },
    /// A row that goes along was written by somebody else: the changes have happened before, or
    /// whoever sent them is not alone.
    LostRace,
    /// Somebody else has added to the same score: add to what it is now.
    CounterMoved,
}

/// What a plan is made with.
pub(crate) struct Planner<'a> {
    pub(crate) layouts: &'a Layouts,
    pub(crate) table: &'a TableName,
    /// Whether the store adds to numbers, so that they take no actions.
    pub(crate) adds_numbers: bool,
    pub(crate) now_ms: i64,
    /// Deletions that are known to be called off: their marks mean nothing.
    pub(crate) void: &'a [String],
}

/// Rows of one side of all transitions, by key.
type Rows<'t> = BTreeMap<RowKey, (Row, &'t Transition)>;

impl Planner<'_> {
    /// The actions that make all transitions happen together.
    ///
    /// # Errors
    ///
    /// If two of them want the same unique value, or one refers to what another deletes, or a key
    /// is too long.
    pub(crate) fn plan(&self, transitions: &[Transition]) -> Result<Plan, Error> {
        let (before, after) = self.both_sides(transitions)?;
        let gone = before.iter().filter(|(key, _)| !after.contains_key(key));
        let mut planned: Vec<PlannedAction> =
            gone.map(|(_, (row, transition))| self.delete(row, transition)).collect();
        for (key, (row, transition)) in after {
            let old = before.get(&key).map(|(row, _)| row);
            planned.extend(self.put(row, old, transition));
        }
        planned.extend(self.targets(transitions)?);
        planned.extend(self.undecided(transitions));
        let (sets, counters) = (self.sets(transitions)?, self.counters(transitions)?);
        Ok(Plan { actions: planned, sets, counters })
    }

    /// What the transitions together add to numbers.
    fn counters(&self, transitions: &[Transition]) -> Result<Counters, Error> {
        let mut counters = Counters::new(self.table, !self.adds_numbers);
        for transition in transitions {
            let before = transition.before.as_ref().map(|row| self.layouts.counters_before(row));
            let before = before.transpose()?.unwrap_or_default();
            if let Some(new) = &transition.after {
                let pending = self.marks_after(transition).1;
                let after = self.layouts.counters_after(new, &pending)?;
                // What it has added to before stays where it is.
                for counter in &after {
                    let room = self.layouts.current.check_room(new.key.entity, counter);
                    room.or_else(|error| before.contains(counter).then_some(()).ok_or(error))?;
                }
                counters.add(after, 1);
            }
            counters.add(before, -1);
        }
        Ok(counters)
    }

    /// The sets that entities join and leave.
    fn sets(&self, transitions: &[Transition]) -> Result<Vec<SetChange>, Error> {
        let mut changes: BTreeMap<(SetName, Membership), Vec<u64>> = BTreeMap::new();
        let mut note = |(set, ordinal), becomes| {
            changes.entry((set, becomes)).or_default().push(ordinal);
        };
        for transition in transitions {
            let before = transition.before.as_ref().map(|row| self.layouts.sets_before(row));
            let mut before = BTreeSet::from_iter(before.transpose()?.unwrap_or_default());
            let pending = self.marks_after(transition).1;
            let after = transition.after.as_ref();
            let after = after.map(|new| self.layouts.sets_after(new, &pending));
            for member in after.transpose()?.unwrap_or_default() {
                if !before.remove(&member) {
                    note(member, Membership::In);
                }
            }
            before.into_iter().for_each(|member| note(member, Membership::Out));
        }
        let change = |((set, becomes), ordinals)| SetChange {
            table: self.table.clone(),
            set,
            ordinals,
            becomes,
        };
        Ok(changes.into_iter().map(change).collect())
    }

    fn both_sides<'t>(&self, transitions: &'t [Transition]) -> Result<(Rows<'t>, Rows<'t>), Error> {
        let (mut before, mut after) = (Rows::new(), Rows::new());
        for transition in transitions {
            if let Some(old) = &transition.before {
                for row in self.layouts.rows_before(old)? {
                    before.insert(row.key.clone(), (row, transition));
                }
            }
        }
        for transition in transitions {
            let Some(new) = &transition.after else { continue };
            let (deletion, pending) = self.marks_after(transition);
            for mut row in self.layouts.current.rows_with(new, &pending)? {
                // The own row and its copy say of an entity what it is.
                if let Some(task) = deletion.as_deref().filter(|_| row.item.contains(VERSION)) {
                    row.item.insert(DELETION, task);
                }
                let reason = row.reason;
                let Some((_, other)) = after.insert(row.key.clone(), (row, transition)) else {
                    continue;
                };
                return Err(match reason {
                    Reason::Guard(unique) => {
                        let by = (other.key != transition.key).then_some(&other.key);
                        self.layouts.taken(new.key.entity, unique, by)
                    }
                    Reason::Own | Reason::Link(_) | Reason::Entry => {
                        Error::SameTwice { id: new.key.id.clone() }
                    }
                });
            }
        }
        Ok((before, after))
    }

    /// Removes a row that is not there after the change.
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
            // The own row's condition stands for it.
            Reason::Link(_) | Reason::Entry => {
                PlannedAction::or_changed(TransactAction::Delete(delete))
            }
        }
    }

    /// Writes a row that is there after the change; nothing if it is there already.
    fn put(&self, row: Row, old: Option<&Row>, transition: &Transition) -> Option<PlannedAction> {
        let is_there = old.is_some_and(|old| old.item == row.item);
        match row.reason {
            Reason::Own => {
                let put = Put::new(self.table, row.item).when(unchanged(transition));
                Some(PlannedAction::or_changed(TransactAction::Put(put)))
            }
            Reason::Guard(_) | Reason::Link(_) | Reason::Entry if is_there => None,
            Reason::Guard(unique) => {
                // Another entity of the same transaction may give it up.
                let free = Condition::missing(PARTITION).or(owned_by(old.unwrap_or(&row)));
                let mut put = Put::new(self.table, row.item).when(free);
                put.on_failure = OnFailure::ReturnItem;
                let on_conflict =
                    OnConflict::UniqueViolation { by: transition.key.clone(), unique };
                Some(PlannedAction { action: TransactAction::Put(put), on_conflict })
            }
            // The own row's condition stands for it.
            Reason::Link(_) | Reason::Entry => {
                Some(PlannedAction::or_changed(TransactAction::Put(Put::new(self.table, row.item))))
            }
        }
    }

    /// The marks of deletions that an entity has after a change.
    fn marks_after(&self, transition: &Transition) -> (Option<String>, Pending) {
        let before = match (&transition.mark, &transition.before) {
            (TombstoneChange::Set(deletion, pending), _) => {
                return (deletion.clone(), pending.clone());
            }
            (TombstoneChange::Drop | TombstoneChange::Keep, None) => return (None, Pending::NONE),
            (TombstoneChange::Drop | TombstoneChange::Keep, Some(before)) => before,
        };
        let is_same = |field: &str| {
            let after = transition.after.as_ref().and_then(|after| after.fields.get(field));
            after.is_some() && after == before.image.fields.get(field)
        };
        let is_void = |by: &str| self.void.iter().any(|void| void == by);
        let kept = before.pending.clone();
        match transition.mark {
            TombstoneChange::Drop => {
                let kept = kept.only_fields();
                (None, kept.fields_if(|field, by| is_same(field) && !is_void(by)))
            }
            TombstoneChange::Keep | TombstoneChange::Set(..) => {
                (before.deletion.clone(), kept.fields_if(|field, _| is_same(field)))
            }
        }
    }

    /// Whoever changes an entity and sees a reference that a deletion is about to clear, checks that
    /// it has not happened.
    fn undecided(&self, transitions: &[Transition]) -> Vec<PlannedAction> {
        let changes =
            transitions.iter().filter(|transition| transition.mark == TombstoneChange::Drop);
        let changes = changes.filter(|transition| transition.after.is_some());
        let mut deletions = BTreeSet::new();
        for transition in changes {
            let pending = self.marks_after(transition).1;
            deletions.extend(pending.deletions().into_iter().map(str::to_owned));
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

    /// Checks that everything that is newly referred to is there to stay.
    fn targets(&self, transitions: &[Transition]) -> Result<Vec<PlannedAction>, Error> {
        let mut checks: BTreeMap<RowKey, PlannedAction> = BTreeMap::new();
        for transition in transitions {
            let Some(after) = &transition.after else { continue };
            for (field, target) in self.new_targets(transition, after) {
                let gone = || self.layouts.target_gone(&after.key, field, &target);
                match transitions.iter().find(|other| other.key == target) {
                    Some(other) if other.after.is_some() => {}
                    Some(_) => return Err(gone()),
                    None => {
                        let key = self.layouts.current.own_key(&target);
                        let check = self.check(&key, &target);
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
        let layout = &self.layouts.current;
        let entity = layout.model().entity(after.key.entity);
        let target = |(field, target, id): (FieldId, EntityId, &str)| {
            let tenant = after.key.tenant.clone().filter(|_| layout.has_tenant(target));
            (field, EntityKey { entity: target, tenant, id: id.to_owned() })
        };
        let linked = layout.links(after.key.entity).iter().filter_map(|link| {
            let name = &entity.field(link.field).name;
            let id = after.fields.get(name)?;
            let unchanged = before.is_some_and(|old| old.image.fields.get(name) == Some(id));
            (!unchanged).then_some((link.field, link.target, id.as_s()?))
        });
        // What a list had before may be gone, and stays in it.
        let listed = entity.reference_lists().filter(|_| references == References::Checked);
        let listed = listed.flat_map(|(field, target)| {
            let name = &entity.field(field).name;
            let old = before.map(|old| elements(&old.image.fields, name)).unwrap_or_default();
            let new = elements(&after.fields, name).iter().filter(move |id| !old.contains(id));
            new.filter_map(move |id| Some((field, target, id.as_s()?)))
        });
        linked.chain(listed).map(target).collect()
    }

    /// It is there, no deletion is about to take it, and it has not expired.
    fn check(&self, key: &RowKey, target: &EntityKey) -> Check {
        let mut unmarked = Condition::missing(DELETION);
        for task in self.void {
            unmarked =
                unmarked.or(Condition::equal(Path::from(DELETION), Value::from(task.as_str())));
        }
        let mut condition = Condition::exists(PARTITION).and(unmarked);
        let entity = self.layouts.current.model().entity(target.entity);
        if let Some(field) = entity.expires {
            let field = Path::from(entity.field(field).name.as_str());
            let later =
                Condition::compare(field.clone(), Comparison::Greater, Value::from(self.now_ms));
            condition = condition.and(Condition::missing(field).or(later));
        }
        let table = self.table.clone();
        Check { table, key: key.to_item(), condition, on_failure: OnFailure::Nothing }
    }
}

/// The elements of a list; none if it is absent.
fn elements<'f>(fields: &'f Item, name: &str) -> &'f [Value] {
    match fields.get(name) {
        Some(Value::L(elements)) => elements,
        _ => &[],
    }
}

/// The own row of a transition is what was read, or not there if it was not.
fn unchanged(transition: &Transition) -> Condition {
    transition.before.as_ref().map_or_else(|| Condition::missing(PARTITION), as_read)
}

/// The own row is exactly what was read: version, revision and marks tell.
pub(crate) fn as_read(row: &OwnRow) -> Condition {
    let mark = match &row.deletion {
        None => Condition::missing(DELETION),
        Some(task) => Condition::equal(Path::from(DELETION), Value::from(task.as_str())),
    };
    let pending = match row.pending.is_empty() {
        true => Condition::missing(PENDING),
        false => Condition::equal(Path::from(PENDING), row.pending.to_value()),
    };
    Condition::equal(Path::from(VERSION), Value::from(row.image.version.as_str()))
        .and(Condition::equal(Path::from(REVISION), Value::from(u64::from(row.revision))))
        .and(mark)
        .and(pending)
}

fn owned_by(row: &Row) -> Condition {
    let owner = row.item.get(OWNER).cloned().unwrap_or(Value::Null);
    Condition::equal(Path::from(OWNER), owner)
}
