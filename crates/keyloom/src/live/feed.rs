//! Reads the change feed for everybody in the process who follows it.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use keyloom_model::attribute::PARTITION;
use keyloom_model::{Counter, OwnRow, RowName};
use keyloom_query::{DeletionState, EntityChange, deletion_key};
use keyloom_store::{Change, Error as StoreError, SeqNo};
use keyloom_value::{Item, Value};

use super::hub::{Found, Round};
use super::pace::Read;
use crate::db::Snapshot;
use crate::error::Error;
use crate::events::{Event, Feed, FeedChange, Position, RowsChange, row_name};
use crate::schema::Schema;
use crate::shared::Shared;

/// Maximum number of row changes per read of a shard: as many as DynamoDB returns at once, so that a page with
/// fewer is the last one there, too.
pub(super) const PAGE_LIMIT: usize = 1000;

pub(super) struct FeedReader<'f> {
    pub(super) shared: &'f Arc<Shared>,
}

impl FeedReader<'_> {
    /// Waits for its turn, then reads the feed until it is dropped. Returns only if that fails.
    pub(super) async fn run(self) -> Error {
        let _turn = self.shared.hub.reading.lock().await;
        loop {
            match self.round().await {
                // Those for whom it was read take it before there is more than is kept for them.
                Ok(is_full) if is_full => yield_once().await,
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    }

    /// A snapshot, if the store has them.
    async fn snapshot(&self, schema: &Arc<Schema>) -> Result<Option<Snapshot>, Error> {
        match self.shared.store.snapshot().await {
            Err(StoreError::Unsupported { .. }) => Ok(None),
            store => Ok(Some(Snapshot { store: store?, schema: schema.clone() })),
        }
    }

    /// Waits until there may be changes after a position: the store says so, or, if it cannot, the next read
    /// is due.
    async fn wait(&self, position: &Position) -> Result<(), Error> {
        let Shared { store, clock, writes, hub, .. } = &**self.shared;
        if let Some(told) = only_seq(position).and_then(|seq| store.when_changed(seq)) {
            return Ok(told.await?);
        }
        let left = || hub.rest(self.shared.now_ms(), writes.load(Ordering::Relaxed));
        while let Some(rest) = left() {
            clock.sleep(rest).await;
            hub.note_rest(rest);
        }
        Ok(())
    }

    /// Returns whether there may be more at once.
    async fn round(&self) -> Result<bool, Error> {
        let hub = &self.shared.hub;
        let Some((mut position, _)) = hub.progress() else {
            hub.begin(Feed::new(self.shared).newest_position().await?);
            return Ok(false);
        };
        self.wait(&position).await?;
        let (schema, before) = (self.shared.schema(), position.clone());
        // Before the feed is read, which then has everything that is in it.
        let snapshot = self.snapshot(&schema).await?;
        let (mut found, mut events) = (vec![], hub.has_listeners().then(Vec::new));
        let read = Feed::new(self.shared).advance(&mut position, PAGE_LIMIT, |at, position| {
            found.extend(found_in(&schema, at));
            // Whoever reads again what is not known finds out why.
            events = events.take().and_then(|mut events| {
                events.extend(Event::in_feed(&schema, at, position).ok()?);
                Some(events)
            });
            Ok(())
        });
        match read.await {
            Ok(is_full) => {
                let (now_ms, shards) = (self.shared.now_ms(), position.0.len());
                let has_changed = position != before;
                hub.note(Read { now_ms, shards, is_full, has_changed });
                let snapshot = snapshot.filter(|snapshot| {
                    !is_full && up_to(snapshot.store.as_of(), &mut found, &mut position)
                });
                if let (Some(events), Some(seq)) = (&mut events, only_seq(&position)) {
                    events.retain(|event| only_seq(&event.position) <= Some(seq));
                }
                hub.pass_on(Round { schema, found, events, position, snapshot });
                Ok(is_full)
            }
            Err(error) if is_lost(&error) => {
                hub.start_over();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// Leaves out what comes after a snapshot: it is read again. Returns whether the position is that of the
/// snapshot then. It is not if the feed was read less far: a relaxed store shows commits before they are
/// synced, and adds them to the feed afterwards.
fn up_to(as_of: Option<SeqNo>, found: &mut Vec<Found>, position: &mut Position) -> bool {
    let (Some(as_of), Some(seq)) = (as_of, only_seq(position)) else { return false };
    if as_of > seq {
        return false;
    }
    found.retain(|found| found.seq <= as_of);
    position.0.values_mut().for_each(|at| *at = as_of);
    true
}

/// Lets others go on, whatever a store needs to wait for.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| match std::mem::replace(&mut has_yielded, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// Whether the feed cannot be continued at the position.
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(
        error,
        Error::Store(
            StoreError::ChangesGone { .. }
                | StoreError::ChangesAhead { .. }
                | StoreError::Invalid(_)
        )
    )
}

/// What a row change means to live reads; none if it is not of an entity.
fn found_in(schema: &Arc<Schema>, at: FeedChange<'_>) -> Option<Found> {
    let seq = at.change.seq;
    if is_sweep(at.change) {
        return Some(Found { seq, change: None });
    }
    if let Some(score) = settled(schema, at.change) {
        return Some(Found { seq, change: Some(Arc::new(EntityChange::of_settled(&score))) });
    }
    let layout = &schema.layouts.current;
    match RowsChange::of(schema, at) {
        Ok(None) => None,
        Ok(Some(RowsChange { old, new, .. })) => {
            let is_lasting =
                old.iter().chain(&new).all(|row| keyloom_query::is_lasting(layout, row));
            let image = |row: Option<OwnRow>| row.map(|row| schema.layouts.upgraded(row));
            let change = EntityChange::new(layout, (image(old), image(new)), is_lasting);
            Some(Found { seq, change: Some(Arc::new(change)) })
        }
        // A row that cannot be read may be anything.
        Err(_) => Some(Found { seq, change: None }),
    }
}

/// The score that a row change is of, if scores are settled after the changes of entities.
fn settled(schema: &Schema, change: &Change) -> Option<Counter> {
    match schema.layouts.has_settled_boards().then(|| row_name(schema, &change.key))?? {
        RowName::Counter(score @ Counter::Score(_)) => Some(score),
        _ => None,
    }
}

/// Whether a large deletion happens: it hides entities whose own rows change later.
fn is_sweep(change: &Change) -> bool {
    let partition = change.key.get(PARTITION).and_then(Value::as_b);
    if partition != Some(deletion_key("").partition.as_bytes()) {
        return false;
    }
    let is_sweeping = |row: &Option<Item>| {
        let state = row.as_ref().map(DeletionState::read);
        matches!(state, Some(Ok(DeletionState::Sweeping)))
    };
    is_sweeping(&change.new) && !is_sweeping(&change.old)
}

/// The position of a feed that has one shard.
fn only_seq(position: &Position) -> Option<SeqNo> {
    let mut seqs = position.0.values();
    seqs.next().copied().filter(|_| seqs.next().is_none())
}
