//! Writes waiting for the committer.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use keyloom_value::Item;

use crate::{
    Alteration, BatchWrite, Delete, Error, Put, TableDescription, TableName, TableSpec, UpdateItem,
};

use super::compact::Candidate;
use super::format::{SpaceId, TableId};
use super::prepared::Prepared;
use super::reply::{self, Receiver, Sender};

/// Something for the committer to do.
#[derive(Debug)]
pub(crate) enum Work {
    /// Only changes items, so that many can share a sync.
    Grouped(Write),
    /// Needs the committer for itself.
    Alone(Task),
}

/// A change of items.
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

/// A change of tables, or of what no reader sees.
#[derive(Debug)]
pub(crate) enum Task {
    CreateTable(TableSpec),
    AlterTable(TableName, Alteration),
    DropTable(TableName),
    /// Takes the filling of derived rows one step further.
    Fill(TableId, SpaceId),
    /// Removes some rows of a space that nothing refers to any more.
    Purge(SpaceId),
    /// Forgets some tokens whose time has passed.
    ForgetTokens,
    /// Brings the tree to the disk.
    Checkpoint,
    /// Opens the files again after a fault.
    Resume,
    /// Puts a compacted tree in the place of the tree.
    ReplaceTree(Box<Candidate>),
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Done {
    Image(Option<Item>),
    Leftover(BatchWrite),
    Table(Box<TableDescription>),
    Nothing,
}

/// Whom to tell what came of it.
pub(crate) type Reply = Sender<Result<Done, Error>>;

/// Something to do, and whom to tell.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) reply: Reply,
}

/// Writes waiting for the committer. Bounded by its callers: each waits for its answer.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: Vec<Job>,
    closed: bool,
}

impl Queue {
    pub(crate) fn submit(&self, work: Work) -> Receiver<Result<Done, Error>> {
        let (reply, receiver) = reply::channel();
        let mut state = self.lock();
        if !state.closed {
            state.jobs.push(Job { work, reply });
            self.filled.notify_one();
        }
        receiver
    }

    /// Everything that waits, as soon as something does; none once the queue is closed and empty.
    pub(crate) fn take(&self) -> Option<Vec<Job>> {
        let mut state = self.lock();
        while state.jobs.is_empty() {
            if state.closed {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Some(std::mem::take(&mut state.jobs))
    }

    /// Takes no more work.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    /// Takes no more work and gives up what waits: its callers learn that the store is closed.
    pub(crate) fn abandon(&self) {
        self.close();
        // Dropping a job wakes its caller, who may come back at once: not under the lock.
        let jobs = std::mem::take(&mut self.lock().jobs);
        drop(jobs);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
