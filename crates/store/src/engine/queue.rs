//! The queue of writes that wait for the committer.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use keyloom_value::Item;

use crate::{
    Alteration, BatchWrite, Delete, Error, Put, TableDescription, TableName, TableSpec, UpdateItem,
};

use super::candidate::Candidate;
use super::format::{SpaceId, TableId};
use super::prepared::Prepared;
use super::reply::{self, Receiver, Sender};

/// Work for the committer.
#[derive(Debug)]
pub(crate) enum Work {
    /// Changes only items, so many of them share a commit batch and its sync.
    Batched(Write),
    /// Runs alone, between two batches.
    Exclusive(Operation),
}

/// A change to items.
#[derive(Debug)]
pub(crate) enum Write {
    Put(Put),
    Update(UpdateItem),
    Delete(Delete),
    Batch(BatchWrite),
    Transaction(Box<Prepared>),
    /// Removes some expired items.
    Expire,
}

/// A change to tables, or to what no reader sees.
#[derive(Debug)]
pub(crate) enum Operation {
    CreateTable(TableSpec),
    AlterTable(TableName, Alteration),
    DropTable(TableName),
    /// Runs one step of building derived rows.
    Fill(TableId, SpaceId),
    /// Removes some rows of a space that nothing refers to anymore.
    Purge(SpaceId),
    /// Removes some expired tokens.
    ForgetTokens,
    /// Writes the tree to disk.
    Checkpoint,
    /// Reopens the files after a fault.
    Resume,
    /// Replaces the tree with a compacted one.
    ReplaceTree(Box<Candidate>),
}

/// The result of work.
#[derive(Debug)]
pub(crate) enum Outcome {
    Image(Option<Item>),
    Unprocessed(BatchWrite),
    Table(Box<TableDescription>),
    Nothing,
}

/// Delivers the result of work to its caller.
pub(crate) type Reply = Sender<Result<Outcome, Error>>;

/// Work, and where to send its result.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) work: Work,
    pub(crate) reply: Reply,
}

/// Work that waits for the committer. Its length is bounded by the number of callers: each waits
/// for its answer.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    submissions: Vec<Submission>,
    closed: bool,
}

impl Queue {
    pub(crate) fn submit(&self, work: Work) -> Receiver<Result<Outcome, Error>> {
        let (reply, receiver) = reply::channel();
        let mut state = self.lock();
        if !state.closed {
            state.submissions.push(Submission { work, reply });
            self.filled.notify_one();
        }
        receiver
    }

    /// Waits for work and returns all of it; `None` once the queue is closed and empty.
    pub(crate) fn take(&self) -> Option<Vec<Submission>> {
        let mut state = self.lock();
        while state.submissions.is_empty() {
            if state.closed {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Some(std::mem::take(&mut state.submissions))
    }

    /// Accepts no more work.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    /// Accepts no more work and drops what waits: its callers get [`Error::Closed`].
    pub(crate) fn abandon(&self) {
        self.close();
        // Dropping a submission wakes its caller, who may submit again at once: not under the lock.
        let submissions = std::mem::take(&mut self.lock().submissions);
        drop(submissions);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
