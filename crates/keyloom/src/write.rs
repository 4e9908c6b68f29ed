//! The one write path. A change is a transition from one image to another; what it writes is
//! rows(after) − rows(before), in one transaction, if the entity is still what was read. Create,
//! update, delete, expiry, backfill and repair all end here.

mod commit;
mod counters;
mod delete;
mod execute;
mod idempotency;
mod intent;
mod plan;
mod tenant;
mod transition;
mod write_set;

pub(crate) use commit::{Outcome, commit};
pub(crate) use counters::{add_all, add_steps, rewrite};
pub(crate) use delete::{Deletion, LINKS_PAGE, is_in};
pub(crate) use execute::AttemptState;
pub(crate) use idempotency::{Done, IdempotencyKey, IdempotencyRecord};
pub(crate) use intent::Intent;
pub(crate) use plan::{ACTIONS_MAX, PlannedAction, as_read};
pub(crate) use transition::{References, TombstoneChange, Transition};
pub(crate) use write_set::WriteSet;

use keyloom_model::{Entity, EntityKey, OwnRow, RowKey};
use keyloom_query::Reader;
use keyloom_store::{Store, TableName};

use crate::background::Running;
use crate::error::Error;
use crate::ordinals::Ordinals;
use crate::schema::Layouts;
use crate::stamp::Stamps;

/// How often something is tried when others change the same entities.
pub(crate) const ATTEMPTS_MAX: usize = 64;

/// What writing needs, for one call.
#[derive(Clone, Copy)]
pub(crate) struct WriteContext<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) table: &'a TableName,
    pub(crate) layouts: &'a Layouts,
    pub(crate) stamps: &'a Stamps,
    pub(crate) ordinals: &'a Ordinals,
    pub(crate) running: &'a Running,
    pub(crate) now_ms: i64,
}

impl<'a> WriteContext<'a> {
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader {
            store: self.store,
            table: self.table,
            layout: &self.layouts.current,
            now_ms: self.now_ms,
        }
    }

    pub(crate) fn entity(&self, key: &EntityKey) -> &'a Entity {
        self.layouts.current.model().entity(key.entity)
    }

    /// The key of an entity's own row.
    pub(crate) fn own_key(&self, key: &EntityKey) -> RowKey {
        self.layouts.current.own_key(key)
    }

    /// Transitions in parts, each of which goes into one transaction with so many others. What cannot be planned
    /// together is left to be tried one by one.
    pub(crate) fn batches<'t>(
        &self,
        transitions: &'t [Transition],
        others: usize,
    ) -> Vec<&'t [Transition]> {
        let planner = self.planner(&[]);
        let fits = |some: &[Transition]| planner.plan(some).is_ok_and(|plan| plan.fits(others));
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

    /// A new stamp.
    pub(crate) fn stamp(&self) -> Result<String, Error> {
        self.stamps.next().map_err(|error| Error::Entropy { reason: error.to_string() })
    }

    /// Whether its time has come.
    pub(crate) fn is_expired(&self, row: &OwnRow) -> bool {
        self.reader().has_expired(&row.image)
    }
}
