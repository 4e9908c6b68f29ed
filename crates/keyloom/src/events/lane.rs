//! Lanes: jobs of one lane are run one after the other, in the order in which they came.
//!
//! A lane has a row as long as one of its jobs waits or runs, its *head*; the others are `queued`.
//! Whoever joins or leaves a lane writes that row, if it is as it was read, in the same transaction.
//!
//! ```text
//! ("m", "lane", name) / 0   head: the id of a job, places: how many have joined
//! ```

use std::collections::BTreeMap;

use keyloom_model::RowKey;
use keyloom_model::attribute::PARTITION;
use keyloom_store::{Delete, Get, Put, TableName, TransactAction};
use keyloom_value::{Condition, Item, Number, Path, Value};

use super::job::{BY_LANE, JOB, Status};
use crate::change::Change;
use crate::db::Db;
use crate::error::Error;
use crate::record::Record;
use crate::write::PlannedAction;

const NAME: &str = "lane";
const HEAD: &str = "head";
const PLACES: &str = "places";

/// A lane that has jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) head: String,
    places: i64,
}

/// What one transaction does to lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// By name: as it was read, and as it shall be.
    lanes: BTreeMap<String, (Option<Lane>, Option<Lane>)>,
}

impl Lane {
    /// Whether a row of Keyloom's own is one.
    pub(crate) fn is_at(partition: &[u8]) -> bool {
        partition.starts_with(RowKey::system(NAME, &[]).partition.as_bytes())
    }

    pub(crate) fn read(row: &Item) -> Option<Lane> {
        let head = row.get(HEAD)?.as_s()?.to_owned();
        Some(Lane { head, places: row.get(PLACES)?.as_n().and_then(Number::to_i64)? })
    }

    pub(crate) fn key(name: &str) -> RowKey {
        RowKey::system_alone(NAME, name.as_bytes())
    }
}

impl Lanes {
    /// A job joins a lane: its place, and whether it is the head at once.
    pub(crate) async fn join(
        &mut self,
        db: &Db,
        (name, id): (&str, &str),
    ) -> Result<(i64, Status), Error> {
        let lane = &mut self.of(db, name).await?.1;
        match lane {
            None => {
                *lane = Some(Lane { head: id.to_owned(), places: 1 });
                Ok((0, Status::Waiting))
            }
            Some(lane) => {
                lane.places += 1;
                Ok((lane.places - 1, Status::Queued))
            }
        }
    }

    /// A job leaves a lane. If it was its head, the next one becomes it: that is the change.
    pub(crate) async fn leave(
        &mut self,
        db: &Db,
        (name, id): (&str, &str),
    ) -> Result<Option<Change>, Error> {
        let (_, lane) = self.of(db, name).await?;
        if lane.as_ref().is_none_or(|lane| lane.head != id) {
            return Ok(None);
        }
        let next = db.first_queued(name, id).await?;
        match (lane.as_mut(), &next) {
            (Some(lane), Some(next)) => lane.head = next.id().to_owned(),
            (_, None) | (None, _) => *lane = None,
        }
        Ok(next.as_ref().map(head_of_lane))
    }

    /// Makes the first that is queued the head of a lane whose head is gone: nobody else does.
    pub(crate) async fn mend(&mut self, db: &Db, name: &str) -> Result<Option<Change>, Error> {
        let head = self.of(db, name).await?.1.as_ref().map(|lane| lane.head.clone());
        if let Some(head) = &head
            && let Some(job) = db.get(JOB, head).await?
            && matches!(Status::of(&job), Status::Waiting | Status::Running)
        {
            return Ok(None);
        }
        let Some(next) = db.first_queued(name, "").await? else { return Ok(None) };
        let lane = &mut self.of(db, name).await?.1;
        match lane {
            Some(lane) => lane.head = next.id().to_owned(),
            None => {
                let place = next.get("place").and_then(Value::as_n).and_then(Number::to_i64);
                let places = place.unwrap_or_default().saturating_add(1_000_000);
                *lane = Some(Lane { head: next.id().to_owned(), places });
            }
        }
        Ok(Some(head_of_lane(&next)))
    }

    /// The rows to be written along.
    pub(crate) fn piggybacked(self, table: &TableName) -> Vec<PlannedAction> {
        let lanes = self.lanes.into_iter();
        lanes.filter_map(|(name, (read, wanted))| rider(table, &name, read, wanted)).collect()
    }

    async fn of(
        &mut self,
        db: &Db,
        name: &str,
    ) -> Result<&mut (Option<Lane>, Option<Lane>), Error> {
        if !self.lanes.contains_key(name) {
            let read = db.lane(name).await?;
            self.lanes.insert(name.to_owned(), (read.clone(), read));
        }
        Ok(self.lanes.entry(name.to_owned()).or_default())
    }
}

fn rider(
    table: &TableName,
    name: &str,
    read: Option<Lane>,
    wanted: Option<Lane>,
) -> Option<PlannedAction> {
    if read == wanted {
        return None;
    }
    let as_read = match &read {
        None => Condition::missing(PARTITION),
        Some(lane) => Condition::equal(Path::from(HEAD), Value::from(lane.head.as_str()))
            .and(Condition::equal(Path::from(PLACES), Value::from(lane.places))),
    };
    let mut item = Lane::key(name).to_item();
    Some(PlannedAction::piggybacked(match wanted {
        None => TransactAction::Delete(Delete::new(table, item).when(as_read)),
        Some(lane) => {
            item.insert(HEAD, lane.head);
            item.insert(PLACES, lane.places);
            TransactAction::Put(Put::new(table, item).when(as_read))
        }
    }))
}

/// A job that was queued is to be run when it is due.
fn head_of_lane(job: &Record) -> Change {
    let patch = Item::from([("status", Value::from(Status::Waiting.word()))]);
    Change::update_item(JOB, job.id(), patch).expecting(job.version())
}

impl Db {
    pub(crate) async fn lane(&self, name: &str) -> Result<Option<Lane>, Error> {
        let get = Get::new(&self.shared.table, Lane::key(name).to_item());
        let Some(row) = self.shared.store.get(get).await? else { return Ok(None) };
        let damaged = || Error::damaged(format!("The row of the lane `{name}` cannot be read."));
        Lane::read(&row).map(Some).ok_or_else(damaged)
    }

    /// The job of a lane that comes after the one that leaves.
    async fn first_queued(&self, lane: &str, leaves: &str) -> Result<Option<Record>, Error> {
        let queued = self.list(JOB, BY_LANE).by("lane", lane).limit(2).read().await?;
        Ok(queued.items.into_iter().find(|job| job.id() != leaves))
    }
}
