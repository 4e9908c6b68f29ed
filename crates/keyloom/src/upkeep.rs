//! The one write path. A change is a transition from one image to another; what it writes is
//! rows(after) − rows(before), in one transaction, if the entity is still what was read. Create,
//! update, delete, expiry, backfill and repair all end here.

mod cast;
mod commit;
mod delete;
mod intent;
mod plan;
mod receipt;
mod sweep;
mod tenant;
mod transition;
mod unmark;
mod write;

pub(crate) use cast::Cast;
pub(crate) use commit::Outcome;
pub(crate) use intent::Intent;
pub(crate) use plan::{ACTIONS_MAX, Planned, as_read};
pub(crate) use receipt::{Done, Receipt, Ticket};
pub(crate) use transition::{Mark, Transition};
pub(crate) use write::Effort;

use keyloom_model::{Entity, EntityKey, OwnRow, RowKey};
use keyloom_query::Reader;
use keyloom_store::{Store, TableName};

use crate::error::Error;
use crate::numbers::Numbers;
use crate::schema::Layouts;
use crate::stamp::Stamps;

/// How often something is tried when others change the same entities.
pub(crate) const ATTEMPTS_MAX: usize = 64;

/// What writing needs, for one call.
#[derive(Clone, Copy)]
pub(crate) struct Upkeep<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) table: &'a TableName,
    pub(crate) layouts: &'a Layouts,
    pub(crate) stamps: &'a Stamps,
    pub(crate) numbers: &'a Numbers,
    pub(crate) now_ms: i64,
}

impl<'a> Upkeep<'a> {
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

    /// Rows in parts, each of which can be written anew or removed in one transaction.
    pub(crate) fn batches<'r>(&self, rows: &'r [OwnRow]) -> impl Iterator<Item = &'r [OwnRow]> {
        let per_row = |row: &OwnRow| self.layouts.rows_max(row.image.key.entity);
        let largest = rows.iter().map(per_row).max().unwrap_or(1);
        rows.chunks((ACTIONS_MAX / largest).max(1))
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
