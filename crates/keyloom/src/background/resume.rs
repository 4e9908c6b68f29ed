//! Resumes abandoned deletions. The call that starts a deletion also completes it; if it is dropped,
//! or its process dies, [`Db::work`] or [`Db::resume_deletions`] continues it, or cancels it if it was
//! not applied. Opening a database does not: what was deleted is hidden, however long it takes to
//! remove.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use keyloom_query::DeletionState;

use super::deletion::{resume_deletion, take_back};
use super::open_deletion::OpenDeletion;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::shared::Shared;
use crate::write::read_roots;

/// The interval between two checks of the deletions of other processes.
const LOOK_MS: i64 = 30_000;
/// How long the record of a marking deletion must stay unchanged until its process counts as dead:
/// it is written with every mark.
const SILENT_MS: i64 = 30_000;

/// What this process remembers of the deletions of others.
#[derive(Debug, Default)]
pub(crate) struct Others(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// The time of the next check, in milliseconds.
    next_ms: i64,
    /// The progress of each marking deletion, and since when it is unchanged.
    open: HashMap<String, (u64, i64)>,
}

impl Db {
    /// Completes abandoned deletions that were applied, and cancels those that were not: their calls
    /// were dropped, or their processes died, also before the database was opened. Returns how many
    /// there were. Reads nothing if there can be none, so it can be called often; [`Db::work`] does.
    ///
    /// [`Db::fold`] has an example.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn resume_deletions(&self) -> Answer<'_, u32> {
        Box::pin(resume_deletions(&self.shared))
    }
}

pub(super) async fn resume_deletions(shared: &Shared) -> Result<u32, Error> {
    let others = &shared.others;
    if !shared.running.was_left() && !others.is_due(shared.now_ms()) {
        return Ok(0);
    }
    // If this is dropped or fails, the next call checks again.
    others.look_again();
    let is_alone = shared.store.opening().is_some();
    if !is_alone {
        // A process that only reads notices a change of the model here.
        shared.notice_changes().await?;
    }
    let count = end_orphans(shared, is_alone).await?;
    others.have_been_seen(shared.now_ms(), is_alone);
    Ok(count)
}

async fn end_orphans(shared: &Shared, is_alone: bool) -> Result<u32, Error> {
    let now_ms = shared.now_ms();
    let is_orphan = |deletion: &OpenDeletion| {
        if shared.running.has(deletion.record.id()) {
            return false;
        }
        match deletion.state {
            Some(DeletionState::Marking) => is_alone || shared.others.is_silent(deletion, now_ms),
            Some(DeletionState::Sweeping | DeletionState::CalledOff) => true,
            None => false,
        }
    };
    let deletions = OpenDeletion::all(shared).await?;
    shared.others.forget_all_but(&deletions);
    let (mut count, mut is_contended) = (0, false);
    for deletion in deletions.into_iter().filter(is_orphan) {
        match end(shared, &deletion).await {
            Ok(()) => count += 1,
            // Retry it after the others.
            Err(Error::Contended) => is_contended = true,
            Err(error) => return Err(error),
        }
    }
    if is_contended { Err(Error::Contended) } else { Ok(count) }
}

async fn end(shared: &Shared, deletion: &OpenDeletion) -> Result<(), Error> {
    let OpenDeletion { record, state, row, .. } = deletion;
    let _running = shared.running.resume(record.id());
    let schema = shared.schema();
    let ctx = shared.write_context(&schema);
    let ended = match state {
        Some(DeletionState::Marking | DeletionState::CalledOff) => {
            take_back(&ctx, record, &read_roots(&schema.layouts.current, row)).await
        }
        Some(DeletionState::Sweeping) => resume_deletion(&ctx, record).await,
        None => Ok(()),
    };
    match ended {
        Err(error @ (Error::Store(_) | Error::Contended | Error::ModelChanged)) => Err(error),
        // Damage must not prevent other deletions from completing. The next writer that finds a
        // tombstone of this one retries.
        Ok(()) | Err(_) => Ok(()),
    }
}

impl Others {
    fn with<T>(&self, f: impl FnOnce(&mut Seen) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it is time for a check.
    fn is_due(&self, now_ms: i64) -> bool {
        self.with(|seen| now_ms >= seen.next_ms)
    }

    fn look_again(&self) {
        self.with(|seen| seen.next_ms = i64::MIN);
    }

    /// All deletions were checked. On a store that no other process can open, once is enough.
    fn have_been_seen(&self, now_ms: i64, is_alone: bool) {
        let next_ms = if is_alone { i64::MAX } else { now_ms.saturating_add(LOOK_MS) };
        self.with(|seen| seen.next_ms = next_ms);
    }

    /// Whether a marking deletion has made no progress for long.
    fn is_silent(&self, deletion: &OpenDeletion, now_ms: i64) -> bool {
        self.with(|seen| {
            let (left, since_ms) =
                seen.open.entry(deletion.record.id().to_owned()).or_insert((deletion.left, now_ms));
            if *left != deletion.left {
                (*left, *since_ms) = (deletion.left, now_ms);
            }
            now_ms.saturating_sub(*since_ms) >= SILENT_MS
        })
    }

    fn forget_all_but(&self, deletions: &[OpenDeletion]) {
        self.with(|seen| {
            seen.open.retain(|name, _| deletions.iter().any(|one| one.record.id() == name));
        });
    }
}
