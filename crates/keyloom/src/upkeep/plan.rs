//! From transitions to the actions of one transaction: rows(after) − rows(before). The only place
//! where derived rows become writes.

use std::collections::BTreeMap;

use keyloom_model::attribute::{DELETION, OWNER, PARTITION, REVISION, VERSION};
use keyloom_model::{EntityKey, FieldId, Image, OwnRow, Reason, Row, RowKey, UniqueId};
use keyloom_store::{Check, Delete, OnFailure, Put, TableName, TransactAction};
use keyloom_value::{Comparison, Condition, Path, Value};

use super::{Mark, Transition};
use crate::error::Error;
use crate::schema::Layouts;

/// As many as one transaction can have.
pub(crate) const ACTIONS_MAX: usize = 100;

/// One action, and what it means if its condition does not hold.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) action: TransactAction,
    pub(crate) otherwise: Otherwise,
}

/// What it means that a condition did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// The entity is not what was read: read it again.
    Changed,
    /// A value that the entity has is guarded for another one.
    NotMine { owner: EntityKey },
    /// Another entity has the value.
    Taken { by: EntityKey, unique: UniqueId },
    /// What it refers to is not there, or about to go.
    TargetGone { owner: EntityKey, field: FieldId, target: EntityKey },
}

/// What a plan is made with.
pub(crate) struct Planner<'a> {
    pub(crate) layouts: &'a Layouts,
    pub(crate) table: &'a TableName,
    pub(crate) now_ms: i64,
    /// Deletions that are known to be called off: their marks mean nothing.
    pub(crate) void: &'a [String],
}

/// Rows of one side of all transitions, by key.
type Rows<'t> = BTreeMap<RowKey, (Row, &'t EntityKey)>;

impl Planner<'_> {
    /// The actions that make all transitions happen together.
    ///
    /// # Errors
    ///
    /// If two of them want the same unique value, or one refers to what another deletes, or a key
    /// is too long.
    pub(crate) fn plan(&self, transitions: &[Transition]) -> Result<Vec<Planned>, Error> {
        let (before, after) = self.both_sides(transitions)?;
        let mut planned = vec![];
        for transition in transitions {
            planned.extend(self.own(transition, &after));
        }
        for (key, (row, owner)) in &after {
            let old = before.get(key).map(|(row, _)| row);
            match row.reason {
                Reason::Own => {}
                Reason::Guard(unique) => planned.extend(self.guard((row, unique), old, owner)),
                Reason::Link(_) => {
                    if old.is_none_or(|old| old.item != row.item) {
                        planned.push(always(TransactAction::Put(self.put(row))));
                    }
                }
            }
        }
        for (key, (row, owner)) in before.iter().filter(|(key, _)| !after.contains_key(key)) {
            let delete = Delete::new(self.table, key.to_item());
            match row.reason {
                Reason::Own => {}
                Reason::Guard(_) => {
                    let mine = Condition::missing(PARTITION).or(owned_by(row));
                    let otherwise = Otherwise::NotMine { owner: (*owner).clone() };
                    let action = TransactAction::Delete(delete.when(mine));
                    planned.push(Planned { action, otherwise });
                }
                Reason::Link(_) => planned.push(always(TransactAction::Delete(delete))),
            }
        }
        planned.extend(self.targets(transitions)?);
        Ok(planned)
    }

    fn both_sides<'t>(&self, transitions: &'t [Transition]) -> Result<(Rows<'t>, Rows<'t>), Error> {
        let (mut before, mut after) = (Rows::new(), Rows::new());
        for transition in transitions {
            if let Some(old) = &transition.before {
                for row in self.layouts.rows_before(old)? {
                    before.insert(row.key.clone(), (row, &transition.key));
                }
            }
        }
        for transition in transitions {
            let Some(new) = &transition.after else { continue };
            for mut row in self.layouts.current.rows(new)? {
                keep_mark(&mut row, transition);
                let reason = row.reason;
                let Some((_, other)) = after.insert(row.key.clone(), (row, &transition.key)) else {
                    continue;
                };
                return Err(match reason {
                    Reason::Guard(unique) => {
                        let by = (other != &transition.key).then_some(other);
                        self.layouts.taken(new.key.entity, unique, by)
                    }
                    Reason::Own | Reason::Link(_) => Error::SameTwice { id: new.key.id.clone() },
                });
            }
        }
        Ok((before, after))
    }

    /// The action on an entity's own row; none if nothing about it changes.
    fn own(&self, transition: &Transition, after: &Rows<'_>) -> Option<Planned> {
        let key = self.layouts.current.own_key(&transition.key);
        let as_read =
            transition.before.as_ref().map_or_else(|| Condition::missing(PARTITION), as_read);
        let action = match (after.get(&key), &transition.before) {
            (Some((row, _)), _) => TransactAction::Put(self.put(row).when(as_read)),
            (None, Some(_)) => {
                TransactAction::Delete(Delete::new(self.table, key.to_item()).when(as_read))
            }
            (None, None) => return None,
        };
        Some(Planned { action, otherwise: Otherwise::Changed })
    }

    /// The action on a guard that is there after the change.
    fn guard(
        &self,
        (row, unique): (&Row, UniqueId),
        old: Option<&Row>,
        owner: &EntityKey,
    ) -> Option<Planned> {
        let free = match old {
            Some(old) if old.item == row.item => return None,
            // Another entity of the same transaction gives it up.
            Some(old) => Condition::missing(PARTITION).or(owned_by(old)),
            None => Condition::missing(PARTITION).or(owned_by(row)),
        };
        let mut put = self.put(row).when(free);
        put.on_failure = OnFailure::ReturnItem;
        let otherwise = Otherwise::Taken { by: owner.clone(), unique };
        Some(Planned { action: TransactAction::Put(put), otherwise })
    }

    /// Checks that everything that is newly referred to is there to stay.
    fn targets(&self, transitions: &[Transition]) -> Result<Vec<Planned>, Error> {
        let mut checks: BTreeMap<RowKey, Planned> = BTreeMap::new();
        for transition in transitions {
            let Some(after) = &transition.after else { continue };
            for (field, target) in self.new_targets(transition.before.as_ref(), after) {
                let gone = || self.layouts.target_gone(&after.key, field, &target);
                match transitions.iter().find(|other| other.key == target) {
                    Some(other) if other.after.is_some() => {}
                    Some(_) => return Err(gone()),
                    None => {
                        let key = self.layouts.current.own_key(&target);
                        let check = self.check(&key, &target);
                        let owner = after.key.clone();
                        let otherwise = Otherwise::TargetGone { owner, field, target };
                        let action = TransactAction::Check(check);
                        checks.insert(key, Planned { action, otherwise });
                    }
                }
            }
        }
        Ok(checks.into_values().collect())
    }

    fn new_targets(&self, before: Option<&OwnRow>, after: &Image) -> Vec<(FieldId, EntityKey)> {
        let layout = &self.layouts.current;
        let entity = layout.model().entity(after.key.entity);
        let target = |link: &keyloom_model::Link| {
            let name = &entity.field(link.field).name;
            let id = after.fields.get(name)?;
            let unchanged = before.is_some_and(|old| old.image.fields.get(name) == Some(id));
            let tenant = after.key.tenant.clone().filter(|_| layout.has_tenant(link.target));
            let id = id.as_s()?.to_owned();
            let target = EntityKey { entity: link.target, tenant, id };
            (!unchanged).then_some((link.field, target))
        };
        layout.links(after.key.entity).iter().filter_map(target).collect()
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

    fn put(&self, row: &Row) -> Put {
        Put::new(self.table, row.item.clone())
    }
}

/// The own row and its copy, the rows that say of an entity what it is, keep the mark.
fn keep_mark(row: &mut Row, transition: &Transition) {
    let task = transition.before.as_ref().and_then(|before| before.deletion.as_deref());
    if let Some(task) = task.filter(|_| transition.mark == Mark::Keep)
        && row.item.contains(VERSION)
    {
        row.item.insert(DELETION, task);
    }
}

/// The own row is exactly what was read: version, revision and mark tell.
pub(crate) fn as_read(row: &OwnRow) -> Condition {
    let mark = match &row.deletion {
        None => Condition::missing(DELETION),
        Some(task) => Condition::equal(Path::from(DELETION), Value::from(task.as_str())),
    };
    Condition::equal(Path::from(VERSION), Value::from(row.image.version.as_str()))
        .and(Condition::equal(Path::from(REVISION), Value::from(u64::from(row.revision))))
        .and(mark)
}

fn owned_by(row: &Row) -> Condition {
    let owner = row.item.get(OWNER).cloned().unwrap_or(Value::Null);
    Condition::equal(Path::from(OWNER), owner)
}

/// A write of a link: the own row's condition stands for it.
fn always(action: TransactAction) -> Planned {
    Planned { action, otherwise: Otherwise::Changed }
}
