//! One step of all bulk operations, and when to take it.

use std::sync::{Arc, Mutex, PoisonError};

use super::apply::{apply, may_pass};
use super::clear::clear;
use super::collect::{collect, write};
use super::operation::cut;
use super::{BulkState, Marker};
use crate::background::{Held, Lease};
use crate::error::Error;
use crate::events::Next;
use crate::shared::Shared;
use crate::system_rows::system_rows;

/// The interval between two looks for operations that other processes have left. A process looks for its
/// own at once, and for all when it starts.
const LOOK_MS: i64 = 600_000;
/// How long to leave operations alone that another process runs: it may be gone.
const LEAVE_MS: i64 = 30_000;
/// The lease of all operations: one process runs them.
const LEASE: &str = "bulk";

/// When this process looks for operations. One call at a time does.
#[derive(Debug, Default)]
pub(crate) struct Bulks(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_busy: bool,
    /// The time of the next look, in milliseconds; 0 at first.
    next_ms: i64,
    /// How many operations this process has started.
    started: u64,
}

/// The turn of one call.
struct Turn<'b> {
    bulks: &'b Bulks,
    /// The operations that were started before it.
    started: u64,
}

impl Bulks {
    /// There is a new operation.
    pub(super) fn wake(&self) {
        self.with(|state| {
            (state.next_ms, state.started) = (i64::MIN, state.started + 1);
        });
    }

    /// The turn of a call; none if there is nothing to look for, or another call looks.
    fn take_turn(&self, now_ms: i64) -> Option<Turn<'_>> {
        self.with(|state| {
            let is_due = !state.is_busy && state.next_ms <= now_ms;
            state.is_busy |= is_due;
            is_due.then(|| Turn { bulks: self, started: state.started })
        })
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Turn<'_> {
    /// Nothing is left to do here until a time, unless an operation was started meanwhile.
    fn rest_until(&self, next_ms: i64) {
        self.bulks.with(|state| {
            if state.started == self.started {
                state.next_ms = next_ms;
            }
        });
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.bulks.with(|state| state.is_busy = false);
    }
}

/// Takes one step of each operation.
pub(crate) async fn advance(shared: &Arc<Shared>) -> Result<Next, Error> {
    let now_ms = shared.now_ms();
    let Some(turn) = shared.bulks.take_turn(now_ms) else { return Ok(Next::Idle) };
    let rows = system_rows(&*shared.store, &shared.table, Marker::partition()).await?;
    let is_alone = shared.store.opening().is_some();
    let lease = Lease::new(shared, LEASE);
    if rows.is_empty() {
        lease.release().await?;
        turn.rest_until(if is_alone { i64::MAX } else { now_ms.saturating_add(LOOK_MS) });
        return Ok(Next::Idle);
    }
    if lease.take().await? == Held::No {
        let again_ms = now_ms.saturating_add(LEAVE_MS);
        turn.rest_until(again_ms);
        return Ok(Next::At(again_ms));
    }
    if !is_alone {
        shared.notice_changes().await?;
    }
    let mut failed = None;
    for marker in rows.iter().filter_map(Marker::read) {
        match step(shared, &marker).await {
            // Another process runs it, or it was canceled.
            Ok(()) | Err(Error::Contended) => {}
            // The others can go on.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(Next::Now), Err)
}

/// Takes one step of an operation.
async fn step(shared: &Arc<Shared>, marker: &Marker) -> Result<(), Error> {
    let Some(record) = marker.record(shared).await? else { return clear(shared, marker).await };
    let done = match record.operation.state {
        BulkState::Collecting => collect(shared, record.clone()).await,
        BulkState::Running => apply(shared, record.clone()).await,
        BulkState::Done | BulkState::Canceled | BulkState::Failed => {
            return clear(shared, marker).await;
        }
    };
    match done {
        Err(error) if !may_pass(&error) => fail(shared, marker, &error).await,
        done => done,
    }
}

/// Ends an operation that cannot go on.
async fn fail(shared: &Shared, marker: &Marker, error: &Error) -> Result<(), Error> {
    let Some(record) = marker.record(shared).await? else { return Ok(()) };
    if record.operation.state.is_ended() {
        return Ok(());
    }
    let mut failed = record.operation.clone();
    failed.problem = Some(cut(&error.to_string()));
    failed.end(BulkState::Failed, shared.now_ms());
    write(shared, vec![record.advance(&shared.table, &failed)]).await
}
