//! Background maintenance: finding work that no request waits for, and the thread that runs it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use crate::{Error, Time};

use super::background_scrub::ROUND_BYTES;
use super::compact;
use super::derive::expired_rows;
use super::format::SystemKey;
use super::options::Durability;
use super::queue::{Operation, Work, Write};
use super::reply;
use super::resume::{Retry, resume};
use super::shared::Shared;
use super::stop::Stop;
use super::tree::RowRange;
use super::view::View;

/// How often the thread looks for work.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs all pending work; returns when nothing is left.
pub(crate) fn settle(shared: &Shared, stop: &Stop) -> Result<(), Error> {
    resume(shared)?;
    shared.drop_retired();
    shared.check_in_place()?;
    shared.sync_log().map_err(|error| shared.fail(error))?;
    shared.files().log.prepare_spare(shared.options.log_segment_bytes);
    while let Some(work) = next_work(&shared.view(), shared.options.clock.now())? {
        reply::wait(shared.queue.submit(work)).ok_or(Error::Closed)??;
    }
    if compact::is_due(shared) {
        // On failure, everything is as it was.
        let _ = compact::compact(shared, stop, &mut |_| ControlFlow::Continue(()));
    }
    shared.trim_log()?;
    shared.scrub_round(u64::MAX);
    Ok(())
}

/// Returns the next work for the committer, if there is any.
fn next_work(view: &View, now: Time) -> Result<Option<Work>, Error> {
    // The committer's time never goes back; with an earlier time here, work that it considers not
    // due would be submitted forever.
    let now = now.max(view.applied_at);
    for table in view.catalog.tables() {
        if let Some(derived) = table.incomplete() {
            return Ok(Some(Work::Exclusive(Operation::Fill(table.id, derived.space))));
        }
    }
    if let Some(row) = first_row(view, &SystemKey::dead())? {
        let space = SystemKey::dead_space(&row).map_err(|why| view.malformed(why))?;
        return Ok(Some(Work::Exclusive(Operation::Purge(space))));
    }
    if first_row(view, &SystemKey::tokens_before(now.0))?.is_some() {
        return Ok(Some(Work::Exclusive(Operation::ForgetTokens)));
    }
    for table in view.catalog.tables() {
        let Some(rows) = table.expiry_rows() else { continue };
        if first_row(view, &expired_rows(rows.space, now))?.is_some() {
            return Ok(Some(Work::Batched(Write::Expire)));
        }
    }
    Ok(None)
}

fn first_row(view: &View, range: &RowRange) -> Result<Option<Vec<u8>>, Error> {
    let first = view.tree.range(range)?.next().transpose()?;
    Ok(first.map(|(row, _)| row.value().to_vec()))
}

/// Works until it is stopped.
pub(crate) fn run(shared: &Arc<Shared>, stop: &Stop) {
    let mut retry = Retry::default();
    thread::scope(|scope| {
        let mut compaction: Option<ScopedJoinHandle<'_, ()>> = None;
        while !stop.wait(LOOK_EVERY) {
            retry.round(shared);
            shared.drop_retired();
            // What fails here fails writes too, and they report it.
            let _ = one_round(shared, stop);
            shared.scrub_round(ROUND_BYTES);
            // Compaction takes minutes, during which other work is due.
            if compaction.as_ref().is_none_or(ScopedJoinHandle::is_finished)
                && compact::is_due(shared)
            {
                let thread = thread::Builder::new().name("keyloom-compact".to_owned());
                // On failure, everything is as it was, and the failure is counted.
                let run =
                    || drop(compact::compact(shared, stop, &mut |_| ControlFlow::Continue(())));
                compaction = thread.spawn_scoped(scope, run).ok();
            }
        }
    });
}

fn one_round(shared: &Shared, stop: &Stop) -> Result<(), Error> {
    shared.check()?;
    shared.check_in_place()?;
    if shared.options.durability == Durability::Relaxed {
        shared.sync_log().map_err(|error| shared.fail(error))?;
    }
    shared.files().log.prepare_spare(shared.options.log_segment_bytes);
    while let Some(work) = next_work(&shared.view(), shared.options.clock.now())? {
        reply::wait(shared.queue.submit(work)).ok_or(Error::Closed)??;
        // There may be work for minutes, and `Durability::Relaxed` promises a sync every 100 ms.
        if shared.options.durability == Durability::Relaxed {
            shared.sync_log().map_err(|error| shared.fail(error))?;
        }
        if stop.wait(Duration::ZERO) {
            return Ok(());
        }
    }
    shared.trim_log()?;
    Ok(())
}
