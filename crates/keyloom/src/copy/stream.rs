//! One stream of a copy: reads a segment of the source and writes it, batch by batch, each in one
//! transaction with the position after it.

use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_model::OwnRow;
use keyloom_store::{Error as StoreError, Put, Segment, TransactAction};
use keyloom_value::Item;

use super::portable::read_entity;
use super::position::{StreamPosition, ended_elsewhere};
use super::{CopyFrom, CopyPage, CopyProgress, CopyRow, CopyStep, OnProgress};
use crate::error::Error;
use crate::schema::Schema;
use crate::shared::Shared;
use crate::write::{
    ACTIONS_MAX, BYTES_MAX, Difference, Outcome, PlannedAction, References, TombstoneChange,
    Tombstones, Transition, WriteContext,
};

/// The streams of a copy.
#[derive(Clone, Copy)]
pub(super) struct Streams<'c> {
    pub(super) shared: &'c Shared,
    pub(super) schema: &'c Schema,
    pub(super) from: &'c dyn CopyFrom,
    /// How many there are.
    pub(super) of: u32,
    /// How many rows all of them have copied.
    pub(super) copied: &'c AtomicU64,
    /// How many rows of the source they have read.
    pub(super) read: &'c AtomicU64,
    pub(super) on_progress: OnProgress<'c>,
}

/// A portable row that is ready to be written.
struct Prepared {
    what: What,
    /// How many actions of a transaction it takes, and how many bytes, at most.
    rows: usize,
    bytes: usize,
    /// The position after it.
    position: Item,
}

enum What {
    Entity(Box<Transition>),
    System(Item),
}

impl Streams<'_> {
    /// Copies what is left of a stream.
    pub(super) async fn run(&self, stream: u32) -> Result<(), Error> {
        let mut at = self.load(stream).await?;
        self.copied.fetch_add(at.rows, Ordering::Relaxed);
        // Pages without portable rows do not move the stored position.
        let mut after = at.after.clone();
        while !at.is_ended {
            let segment = Segment { number: stream, of: self.of };
            let page = self.from.page(segment, after.as_ref()).await?;
            after.clone_from(&page.next);
            self.read.fetch_add(page.read, Ordering::Relaxed);
            at = self.write(stream, at, page).await?;
            self.report();
        }
        Ok(())
    }

    fn report(&self) {
        let rows = self.copied.load(Ordering::Relaxed);
        let (done, total) = (self.read.load(Ordering::Relaxed), self.from.rows_total());
        (self.on_progress)(CopyProgress { step: CopyStep::Copying, rows, done, total });
    }

    async fn load(&self, stream: u32) -> Result<StreamPosition, Error> {
        StreamPosition::load(&*self.shared.store, &self.shared.table, stream).await
    }

    /// Writes a page; returns the position after it.
    async fn write(
        &self,
        stream: u32,
        mut at: StreamPosition,
        page: CopyPage,
    ) -> Result<StreamPosition, Error> {
        let rows = page.rows.into_iter().map(|row| self.prepare(row));
        let rows = rows.collect::<Result<Vec<Prepared>, Error>>()?;
        let mut rest = &rows[..];
        while !rest.is_empty() || (page.next.is_none() && !at.is_ended) {
            let (batch, after_batch) = rest.split_at(self.batch_len(rest));
            let after = match batch.last() {
                Some(last) if !after_batch.is_empty() => Some(last.position.clone()),
                _ => page.next.clone(),
            };
            let next = at.next(after, batch.len() as u64);
            self.commit(stream, &at, &next, batch).await?;
            self.copied.fetch_add(batch.len() as u64, Ordering::Relaxed);
            (at, rest) = (next, after_batch);
        }
        Ok(at)
    }

    fn prepare(&self, CopyRow { row, position }: CopyRow) -> Result<Prepared, Error> {
        let Some(own) = read_entity(&self.schema.layouts.current, &row)? else {
            let bytes = row.size();
            return Ok(Prepared { what: What::System(row), rows: 1, bytes, position });
        };
        let transition = restored(own);
        let planned = self.plan(std::slice::from_ref(&transition))?;
        let (rows, bytes) = (planned.rows_max(), planned.bytes());
        Ok(Prepared { what: What::Entity(Box::new(transition)), rows, bytes, position })
    }

    /// How many of some rows fit into one transaction with a position.
    fn batch_len(&self, rows: &[Prepared]) -> usize {
        let (mut actions, mut bytes) = (1, 0);
        let fits = |row: &&Prepared| {
            actions += row.rows;
            bytes += row.bytes;
            actions <= ACTIONS_MAX && bytes < BYTES_MAX
        };
        // A single row always fits: it was written in one transaction before.
        rows.iter().take_while(fits).count().max(rows.len().min(1))
    }

    async fn commit(
        &self,
        stream: u32,
        at: &StreamPosition,
        next: &StreamPosition,
        batch: &[Prepared],
    ) -> Result<(), Error> {
        let ctx = self.context();
        let mut attempts = ctx.attempts();
        loop {
            attempts.next().await?;
            let mut difference = self.difference(batch)?;
            let advance = at.advance(next, &self.shared.table, stream);
            difference.actions.push(PlannedAction::or_changed(advance));
            let failure = match ctx.commit_difference(difference).await {
                Ok(Outcome::Done) => return Ok(()),
                Ok(Outcome::UniqueViolation(conflict)) => {
                    let layouts = &self.schema.layouts;
                    return Err(layouts.taken(conflict.by.entity, conflict.unique, None));
                }
                Ok(Outcome::Changed | Outcome::TargetGone { .. }) => None,
                Err(error) => Some(error),
            };
            // Whether it was written is certain only now.
            let now = self.load(stream).await?;
            if now == *next {
                return Ok(());
            }
            if now != *at {
                return Err(overtaken(at.is_followed_by(&now)));
            }
            match failure {
                None | Some(Error::Contended | Error::Store(StoreError::Unanswered(_))) => {}
                Some(error) => return Err(error),
            }
        }
    }

    /// Everything that a batch writes.
    fn difference(&self, batch: &[Prepared]) -> Result<Difference, Error> {
        let entities = batch.iter().filter_map(|row| match &row.what {
            What::Entity(transition) => Some((**transition).clone()),
            What::System(_) => None,
        });
        let mut difference = self.plan(&entities.collect::<Vec<Transition>>())?;
        let table = &self.shared.table;
        difference.actions.extend(batch.iter().filter_map(|row| match &row.what {
            What::Entity(_) => None,
            What::System(item) => {
                let put = TransactAction::Put(Put::new(table, item.clone()));
                Some(PlannedAction::or_changed(put))
            }
        }));
        Ok(difference)
    }

    /// Plans entities. Where the store does not add to counters, or has no sets, counters and posting
    /// lists follow at the end (`aggregate.rs`): every transaction would write the same few rows.
    fn plan(&self, transitions: &[Transition]) -> Result<Difference, Error> {
        let ctx = self.context();
        let mut difference = ctx.planner(&[]).plan(transitions)?;
        difference.deltas.clear();
        if !self.shared.store.adds_numbers() {
            difference.counters = Default::default();
        }
        Ok(difference)
    }

    /// Positions fence a copy, so it needs no permits.
    fn context(&self) -> WriteContext<'_> {
        WriteContext { fence: None, gate: None, ..self.shared.write_context(self.schema) }
    }
}

/// The transition that writes an entity as it was read, with its version, ordinal and tombstones.
fn restored(own: OwnRow) -> Transition {
    let OwnRow { image, deletion, pending, .. } = own;
    let mut transition = Transition::new(image.key.clone(), None, Some(image));
    transition.tombstones = TombstoneChange::Set(Tombstones { deletion, pending });
    transition.references = References::Copied;
    transition
}

fn overtaken(is_running: bool) -> Error {
    if !is_running {
        return ended_elsewhere();
    }
    let reason = "Another process copies into the same target: let one of them finish.";
    Error::Copy { reason: reason.to_owned() }
}
