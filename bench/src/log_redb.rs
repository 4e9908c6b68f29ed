//! A minimal durable writer: a log with group commit in front of redb.
//!
//! Writers queue; one thread takes all waiting puts, appends them as one record, syncs, applies them
//! to redb in one non-durable transaction, and replies. After every 64 MiB of log, a durable
//! transaction makes the log obsolete, and it restarts.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use redb::Durability;

use crate::{Contender, Found, LogFile, Outcome, Row, RowKey, Rows, Tree, log_file};

/// Bytes of log between two checkpoints.
pub(crate) const CHECKPOINT_BYTES: u64 = 64 << 20;

/// A log, a redb file, and the thread that writes both.
#[derive(Debug)]
pub(crate) struct LogRedb {
    tree: Arc<Tree>,
    /// Dropped to stop the thread.
    queue: Option<Sender<Job>>,
    committer: Option<JoinHandle<()>>,
}

/// A waiting put.
#[derive(Debug)]
struct Job {
    key: RowKey,
    body: Vec<u8>,
    reply: Sender<Result<(), String>>,
}

#[derive(Debug)]
struct Committer {
    tree: Arc<Tree>,
    log: LogFile,
    queue: Receiver<Job>,
}

impl LogRedb {
    /// Opens a directory and replays its log.
    pub(crate) fn open(directory: &Path, memory_bytes: usize) -> Outcome<LogRedb> {
        let tree = Arc::new(Tree::open(&directory.join("tree.redb"), memory_bytes)?);
        for payload in log_file::read_all(directory)? {
            tree.write(log_file::rows(&payload), Durability::None)?;
        }
        tree.checkpoint()?;
        let mut log = LogFile::create(directory)?;
        log.restart()?;
        let (sender, queue) = mpsc::channel();
        let committer = Committer { tree: Arc::clone(&tree), log, queue };
        let committer =
            thread::Builder::new().name("committer".into()).spawn(|| committer.run())?;
        Ok(LogRedb { tree, queue: Some(sender), committer: Some(committer) })
    }
}

impl Drop for LogRedb {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(committer) = self.committer.take() {
            // Writers of a panicked committer see a closed channel.
            let _ = committer.join();
        }
    }
}

impl Contender for LogRedb {
    fn load(&self, rows: &Rows) -> Outcome<()> {
        self.tree.load(rows)
    }

    fn get(&self, key: &RowKey) -> Outcome<Option<Vec<u8>>> {
        self.tree.get(key)
    }

    fn range20(&self, from: &RowKey) -> Outcome<Found> {
        self.tree.range20(from).map(Found::Bodies)
    }

    fn put(&self, row: Row<'_>) -> Outcome<()> {
        let (reply, replied) = mpsc::channel();
        let job = Job { key: row.key, body: row.body.to_vec(), reply };
        self.queue.as_ref().ok_or("The queue is closed.")?.send(job)?;
        Ok(replied.recv()??)
    }
}

impl Committer {
    fn run(mut self) {
        while let Ok(first) = self.queue.recv() {
            let batch: Vec<Job> = std::iter::once(first).chain(self.queue.try_iter()).collect();
            let outcome = self.commit(&batch).map_err(|error| error.to_string());
            for job in batch {
                // The writer may be gone.
                let _ = job.reply.send(outcome.clone());
            }
            if outcome.is_err() {
                return;
            }
        }
    }

    fn commit(&mut self, batch: &[Job]) -> Outcome<()> {
        if self.log.len() >= CHECKPOINT_BYTES {
            self.tree.checkpoint()?;
            self.log.restart()?;
        }
        let rows = || batch.iter().map(|job| Row { key: job.key, body: &job.body });
        self.log.append(rows())?;
        self.tree.write(rows(), Durability::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataDirectory, Random};

    #[test]
    fn an_acknowledged_put_is_readable_and_survives_without_a_checkpoint() {
        let directory = DataDirectory::create(&std::env::temp_dir()).unwrap();
        let rows = Rows::new(100);
        let fresh: Vec<Row<'_>> = {
            let mut random = Random::new(7);
            (0..50).map(|_| rows.fresh(&mut random)).collect()
        };
        let store = LogRedb::open(directory.path(), 1 << 24).unwrap();
        store.load(&rows).unwrap();
        thread::scope(|scope| {
            for chunk in fresh.chunks(10) {
                scope.spawn(|| chunk.iter().for_each(|row| store.put(*row).unwrap()));
            }
        });
        assert_eq!(store.get(&fresh[3].key).unwrap().as_deref(), Some(fresh[3].body));
        let log_only = log_file::read_all(directory.path()).unwrap();
        let logged: usize = log_only.iter().map(|payload| log_file::rows(payload).count()).sum();
        assert_eq!(logged, 50);
        drop(store);
        std::fs::remove_file(directory.path().join("tree.redb")).unwrap();
        let replayed = LogRedb::open(directory.path(), 1 << 24).unwrap();
        for row in &fresh {
            assert_eq!(replayed.get(&row.key).unwrap().as_deref(), Some(row.body));
        }
    }
}
