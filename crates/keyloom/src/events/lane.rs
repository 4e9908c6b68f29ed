//! Lanes: ordered queues of jobs. The jobs of a lane run one after the other, in the order in which
//! they were scheduled.
//!
//! A lane has a row while one of its jobs, its *head*, waits or runs; the others are `queued`.
//! Joining or leaving a lane writes that row in the same transaction, on the condition that it is as
//! it was read.
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
/// How far the places of a rebuilt lane row are from those that jobs may have: the row that counted
/// them is lost.
const PLACES_SKIPPED: i64 = 1_000_000;

/// A lane that has jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) head: String,
    places: i64,
}

/// A job in a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'m> {
    pub(crate) lane: &'m str,
    pub(crate) job: &'m str,
}

/// Where a job is in its lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joined {
    pub(crate) place: i64,
    /// [`Status::Waiting`] if it is the head, [`Status::Queued`] otherwise.
    pub(crate) status: Status,
}

/// The lanes that one transaction changes.
pub(crate) struct Lanes<'d> {
    db: &'d Db,
    lanes: BTreeMap<String, Versions>,
}

/// A lane before and after a transaction.
#[derive(Clone, Debug, Default)]
struct Versions {
    read: Option<Lane>,
    wanted: Option<Lane>,
}

impl Lane {
    /// Whether a partition is that of a lane.
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

impl<'d> Lanes<'d> {
    pub(crate) fn new(db: &'d Db) -> Lanes<'d> {
        Lanes { db, lanes: BTreeMap::new() }
    }

    /// Adds a job to a lane.
    pub(crate) async fn join(&mut self, member: Member<'_>) -> Result<Joined, Error> {
        let lane = self.lane(member.lane).await?;
        match lane {
            None => {
                *lane = Some(Lane { head: member.job.to_owned(), places: 1 });
                Ok(Joined { place: 0, status: Status::Waiting })
            }
            Some(lane) => {
                lane.places += 1;
                Ok(Joined { place: lane.places - 1, status: Status::Queued })
            }
        }
    }

    /// Removes a job from a lane. If it was the head, returns the change that makes the next job
    /// the head.
    pub(crate) async fn leave(&mut self, member: Member<'_>) -> Result<Option<Change>, Error> {
        let is_head = |lane: &Lane| lane.head == member.job;
        if !self.lane(member.lane).await?.as_ref().is_some_and(is_head) {
            return Ok(None);
        }
        let next = self.first_queued(member).await?;
        let lane = self.lane(member.lane).await?;
        match (lane.as_mut(), &next) {
            (Some(lane), Some(next)) => lane.head = next.id().to_owned(),
            (_, None) | (None, _) => *lane = None,
        }
        Ok(next.as_ref().map(make_head))
    }

    /// Makes the first queued job the head of a lane whose head was deleted.
    pub(crate) async fn repair(&mut self, name: &str) -> Result<Option<Change>, Error> {
        let head = self.lane(name).await?.as_ref().map(|lane| lane.head.clone());
        if let Some(head) = &head
            && let Some(job) = self.db.get(JOB, head).await?
            && matches!(Status::of(&job), Status::Waiting | Status::Running)
        {
            return Ok(None);
        }
        let nobody = Member { lane: name, job: "" };
        let Some(next) = self.first_queued(nobody).await? else { return Ok(None) };
        let lane = self.lane(name).await?;
        match lane {
            Some(lane) => lane.head = next.id().to_owned(),
            None => {
                let place = next.get("place").and_then(Value::as_n).and_then(Number::to_i64);
                let places = place.unwrap_or_default().saturating_add(PLACES_SKIPPED);
                *lane = Some(Lane { head: next.id().to_owned(), places });
            }
        }
        Ok(Some(make_head(&next)))
    }

    /// Returns the writes of the changed lane rows.
    pub(crate) fn into_actions(self) -> Vec<PlannedAction> {
        let table = &self.db.shared.table;
        let lanes = self.lanes.into_iter();
        lanes.filter_map(|(name, versions)| versions.into_action(&name, table)).collect()
    }

    async fn lane(&mut self, name: &str) -> Result<&mut Option<Lane>, Error> {
        if !self.lanes.contains_key(name) {
            let read = self.load(name).await?;
            self.lanes.insert(name.to_owned(), Versions { wanted: read.clone(), read });
        }
        Ok(&mut self.lanes.entry(name.to_owned()).or_default().wanted)
    }

    async fn load(&self, name: &str) -> Result<Option<Lane>, Error> {
        let get = Get::new(&self.db.shared.table, Lane::key(name).to_item());
        let Some(row) = self.db.shared.store.get(get).await? else { return Ok(None) };
        let damaged = || Error::damaged(format!("The row of the lane `{name}` cannot be read."));
        Lane::read(&row).map(Some).ok_or_else(damaged)
    }

    /// Returns the first queued job of a lane other than the one that leaves.
    async fn first_queued(&self, leaving: Member<'_>) -> Result<Option<Record>, Error> {
        let queued = self.db.list(JOB, BY_LANE).by("lane", leaving.lane).limit(2).read().await?;
        Ok(queued.items.into_iter().find(|job| job.id() != leaving.job))
    }
}

impl Versions {
    fn into_action(self, name: &str, table: &TableName) -> Option<PlannedAction> {
        if self.read == self.wanted {
            return None;
        }
        let as_read = match &self.read {
            None => Condition::missing(PARTITION),
            Some(lane) => Condition::equal(Path::from(HEAD), Value::from(lane.head.as_str()))
                .and(Condition::equal(Path::from(PLACES), Value::from(lane.places))),
        };
        let mut item = Lane::key(name).to_item();
        Some(PlannedAction::piggybacked(match self.wanted {
            None => TransactAction::Delete(Delete::new(table, item).when(as_read)),
            Some(lane) => {
                item.insert(HEAD, lane.head);
                item.insert(PLACES, lane.places);
                TransactAction::Put(Put::new(table, item).when(as_read))
            }
        }))
    }
}

/// Makes a queued job run when it is due.
fn make_head(job: &Record) -> Change {
    let patch = Item::from([("status", Value::from(Status::Waiting.word()))]);
    Change::update_item(JOB, job.id(), patch).expecting(job.version())
}
