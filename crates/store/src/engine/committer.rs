//! The single writer thread: takes all waiting writes, decides them in order, logs them with one
//! sync, applies them to the tree, publishes them to readers, and only then answers.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use crate::limits::OWN_GLOBAL_INDEXES_MAX;
use crate::{Error, Failure, TableName, Time, validate};

use super::alter::{altered, created};
use super::apply::Apply;
use super::candidate::Candidate;
use super::commit_batch::{CommitBatch, Planned};
use super::format::{BuildState, Commit, CommitNo, Effect, SpaceId, SystemKey, TableId};
use super::log::LogWriter;
use super::options::{Background, CHECKPOINT_LOG_BYTES, Durability};
use super::queue::{Operation, Outcome, Reply, Submission, Work, Write};
use super::resume;
use super::rows_mut::RowsMut;
use super::shared::Shared;
use super::tree::failed;
use super::view::View;

/// A batch takes no more writes once its items have this many bytes.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// Items that one step of building an index reads, and their bytes.
const FILL_ITEMS: u32 = 256;
const FILL_BYTES: u32 = 1 << 20;
/// A batch of this many bytes is applied to the tree while the log is being synced: starting a
/// thread costs less than the wait.
const BESIDE_SYNC_BYTES: u64 = 64 << 10;
/// Rows that one step of cleanup removes.
const PURGE_ROWS: usize = 1000;

pub(crate) struct Committer {
    shared: Arc<Shared>,
    log: LogWriter,
    /// When the last commit happened. Commit times never decrease.
    last_at: Time,
    since_checkpoint: SinceCheckpoint,
    /// Rows after which a checkpoint is due: about as many as make `Options::checkpoint_bytes`.
    checkpoint_rows: u64,
}

#[derive(Default)]
struct SinceCheckpoint {
    log_bytes: u64,
    rows: u64,
}

impl Committer {
    pub(crate) fn new(shared: Arc<Shared>, log: LogWriter) -> Committer {
        let last_at = shared.view().applied_at;
        let checkpoint_rows = shared.options.checkpoint_rows();
        let since_checkpoint = SinceCheckpoint::default();
        Committer { shared, log, last_at, since_checkpoint, checkpoint_rows }
    }

    /// Works until the queue is closed and empty, then checkpoints the tree.
    pub(crate) fn run(mut self) {
        // If this thread panics, callers must not wait for it forever.
        let _abandon = AbandonOnDrop(Arc::clone(&self.shared));
        while let Some(submissions) = self.shared.queue.take() {
            self.serve(submissions);
        }
        if self.shared.check().is_ok() {
            // The log has everything; a stale tree only makes the next open slower.
            let _ = self.checkpoint();
        }
    }

    fn serve(&mut self, submissions: Vec<Submission>) {
        let mut writes = Vec::new();
        for Submission { work, reply } in submissions {
            match work {
                Work::Batched(write) => writes.push((write, reply)),
                Work::Exclusive(operation) => {
                    self.serve_writes(std::mem::take(&mut writes));
                    reply.send(self.serve_exclusive(operation));
                    self.checkpoint_if_due();
                }
            }
        }
        self.serve_writes(writes);
    }

    fn serve_writes(&mut self, writes: Vec<(Write, Reply)>) {
        let mut writes = writes.into_iter().peekable();
        while writes.peek().is_some() {
            let view = self.shared.view();
            let mut batch = CommitBatch::new(&view, self.now());
            let mut answers = Vec::new();
            while batch.bytes() < BATCH_BYTES_MAX
                && let Some((write, reply)) = writes.next()
            {
                answers.push((reply, decide(&mut batch, write)));
            }
            let planned = batch.into_planned();
            // A reader of the previous view would make redb keep a list of freed pages after the
            // checkpoint and walk it with every commit, so the committer must not hold one.
            drop(view);
            let committed = self.commit(planned);
            for (reply, outcome) in answers {
                reply.send(committed.clone().and(outcome));
            }
            self.checkpoint_if_due();
        }
    }

    fn serve_exclusive(&mut self, operation: Operation) -> Result<Outcome, Error> {
        if let Operation::Resume = operation {
            return self.resume().map(|()| Outcome::Nothing);
        }
        self.shared.check()?;
        match operation {
            Operation::Resume => Ok(Outcome::Nothing),
            Operation::ReplaceTree(candidate) => {
                self.replace_tree(*candidate).map(|()| Outcome::Nothing)
            }
            Operation::CreateTable(spec) => {
                validate::table_spec(&spec, OWN_GLOBAL_INDEXES_MAX)?;
                let view = self.shared.view();
                if view.catalog.table(&spec.name).is_ok() {
                    return Err(Error::TableExists { table: spec.name });
                }
                let name = spec.name.clone();
                let record = created(&view.catalog, spec, self.now(), self.log.next());
                self.commit_effect(Effect::SetTable(record))?;
                self.described(&name)
            }
            Operation::AlterTable(name, change) => {
                let view = self.shared.view();
                let table = view.catalog.table(&name)?;
                validate::alteration(&table.spec, &change, OWN_GLOBAL_INDEXES_MAX)?;
                let record = altered(&view.catalog, table, change, self.log.next());
                let spaces: Vec<SpaceId> = incomplete(&record.derived);
                let id = record.id;
                self.commit_effect(Effect::SetTable(record))?;
                self.fill_if_empty(id, &spaces)?;
                self.described(&name)
            }
            Operation::DropTable(name) => {
                let view = self.shared.view();
                let id = view.catalog.table(&name)?.id;
                let description = view.describe(&name)?;
                self.commit_effect(Effect::DropTable(id))?;
                Ok(Outcome::Table(Box::new(description)))
            }
            Operation::Fill(table, space) => self.fill(table, space).map(|()| Outcome::Nothing),
            Operation::Purge(space) => {
                self.clean(|rows, path| purge(rows, path, space)).map(|()| Outcome::Nothing)
            }
            Operation::ForgetTokens => {
                let now = self.now();
                self.clean(|rows, path| forget_tokens(rows, path, now)).map(|()| Outcome::Nothing)
            }
            Operation::Checkpoint => {
                self.checkpoint()?;
                self.shared.files().tree.file().drain().map_err(Error::WritesRefused)?;
                Ok(Outcome::Nothing)
            }
        }
    }

    fn described(&self, name: &TableName) -> Result<Outcome, Error> {
        Ok(Outcome::Table(Box::new(self.shared.view().describe(name)?)))
    }

    /// Reopens the files after a fault and continues with them.
    fn resume(&mut self) -> Result<(), Error> {
        let writer = resume::open_again(&self.shared)?;
        self.log = writer;
        self.last_at = self.last_at.max(self.shared.view().applied_at);
        self.since_checkpoint = SinceCheckpoint::default();
        Ok(())
    }

    /// Continues with a compacted tree.
    fn replace_tree(&mut self, candidate: Candidate) -> Result<(), Error> {
        self.log.sync().map_err(|error| self.shared.fail(error))?;
        candidate.replace(&self.shared, self.log.active())?;
        self.since_checkpoint = SinceCheckpoint::default();
        Ok(())
    }

    /// Runs one step of building derived rows, if they still need it.
    fn fill(&mut self, table: TableId, space: SpaceId) -> Result<(), Error> {
        let view = self.shared.view();
        let derived = view.catalog.by_id(table).map(|table| incomplete(&table.derived));
        if derived.is_some_and(|spaces| spaces.contains(&space)) {
            self.commit_effect(Effect::Fill {
                table,
                space,
                items: FILL_ITEMS,
                bytes: FILL_BYTES,
            })?;
        }
        Ok(())
    }

    /// Completes derived rows of a table without items at once.
    fn fill_if_empty(&mut self, table: TableId, spaces: &[SpaceId]) -> Result<(), Error> {
        let view = self.shared.view();
        let Some(record) = view.catalog.by_id(table) else { return Ok(()) };
        if view.stats(record.space)?.items == 0 {
            for space in spaces {
                self.fill(table, *space)?;
            }
        }
        Ok(())
    }

    fn commit_effect(&mut self, effect: Effect) -> Result<(), Error> {
        let commit = Commit { at: self.now(), effects: vec![effect] };
        self.commit(vec![Planned { commit, images: Vec::new() }])
    }

    /// Logs commits, applies them to the tree and publishes them to readers. After an error it is
    /// unknown which of them survive, so no more writes are accepted.
    fn commit(&mut self, planned: Vec<Planned>) -> Result<(), Error> {
        self.shared.check()?;
        if planned.is_empty() {
            return Ok(());
        }
        let applied = self.log_and_apply(&planned).map_err(|error| self.shared.fail(error));
        let (rows, view) = applied?;
        debug_assert!(
            self.shared.options.durability == Durability::Relaxed
                || self.log.is_synced(view.applied),
            "readers see a commit before it is synced"
        );
        self.shared.metrics.count_batch();
        self.shared.publish(view);
        self.since_checkpoint.rows += rows;
        Ok(())
    }

    /// Returns how many rows were written, and the view to publish. No reader may see it before the
    /// log is synced, but a large batch is applied to the tree meanwhile.
    fn log_and_apply(&mut self, planned: &[Planned]) -> Result<(u64, View), Error> {
        let (last, bytes) = self.append(planned)?;
        if bytes < BESIDE_SYNC_BYTES {
            self.sync()?;
            return self.apply(planned, last);
        }
        thread::scope(|scope| {
            let options = &self.shared.options;
            let syncing = match (options.background, options.durability) {
                (Background::Threads, Durability::Sync) => {
                    thread::Builder::new().spawn_scoped(scope, || self.sync()).ok()
                }
                (Background::Threads, Durability::Relaxed) | (Background::Manual, _) => None,
            };
            let applied = self.apply(planned, last);
            match syncing {
                Some(syncing) => syncing.join().unwrap_or_else(|panic| resume_unwind(panic))?,
                // No thread syncs concurrently.
                None => self.sync()?,
            }
            applied
        })
    }

    /// Returns the last commit, and how many bytes were appended to the log.
    fn append(&mut self, planned: &[Planned]) -> Result<(CommitNo, u64), Error> {
        debug_assert!(!planned.is_empty(), "a frame has commits");
        let first = self.log.next();
        let last = CommitNo(first.0 + planned.len() as u64 - 1);
        let mut frame = self.log.frame();
        for planned in planned {
            frame.push(&planned.commit);
            self.last_at = self.last_at.max(planned.commit.at);
        }
        let bytes = self.log.append(frame, last, self.last_at)?;
        self.since_checkpoint.log_bytes += bytes;
        Ok((last, bytes))
    }

    fn sync(&self) -> Result<(), Error> {
        match self.shared.options.durability {
            Durability::Sync => self.shared.metrics.sync(|| self.log.sync()),
            Durability::Relaxed => {
                self.shared.files().set_written(self.log.active());
                Ok(())
            }
        }
    }

    fn apply(&self, planned: &[Planned], last: CommitNo) -> Result<(u64, View), Error> {
        let files = self.shared.files();
        let tree = &files.tree;
        let mut catalog = Arc::clone(&self.shared.view().catalog);
        let rows = tree.write(|rows| {
            let mut apply = Apply::new(rows, &mut catalog, tree.path());
            for planned in planned {
                apply.commit(&planned.commit, &planned.images)?;
            }
            apply.finish(last, self.last_at)
        })?;
        let (applied, applied_at) = (last, self.last_at);
        Ok((rows, View { tree: tree.view()?, catalog, applied, applied_at }))
    }

    /// Removes rows that no reader can reach. This is not logged: replaying the log brings such
    /// rows back, and they are removed again.
    fn clean(
        &mut self,
        change: impl FnOnce(&mut RowsMut<'_>, &Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let files = self.shared.files();
        let tree = &files.tree;
        let cleaned = tree.write(|rows| change(rows, tree.path()));
        cleaned.map_err(|error| self.shared.fail(error))?;
        let view = self.shared.view();
        let catalog = Arc::clone(&view.catalog);
        let (applied, applied_at) = (view.applied, view.applied_at);
        self.shared.publish(View { tree: tree.view()?, catalog, applied, applied_at });
        self.since_checkpoint.rows += PURGE_ROWS as u64 / 8;
        Ok(())
    }

    fn checkpoint_if_due(&mut self) {
        let since = &self.since_checkpoint;
        let due = since.rows >= self.checkpoint_rows || since.log_bytes >= CHECKPOINT_LOG_BYTES;
        if due && self.shared.check().is_ok() {
            // A failure refuses the next write; the writes before it are durable in the log.
            let _ = self.checkpoint();
        }
    }

    /// Starts a checkpoint. The log is synced first, so that the tree on disk never has a commit
    /// that the log lacks.
    fn checkpoint(&mut self) -> Result<(), Error> {
        let files = self.shared.files();
        let outcome = self.log.sync().and_then(|()| {
            debug_assert!(
                self.log.is_synced(self.shared.view().applied),
                "the tree is ahead of the log"
            );
            files.tree.checkpoint()
        });
        let syncs = outcome.map_err(|error| self.shared.fail(error))?;
        files.note_checkpoint(syncs, CommitNo(self.log.next().0 - 1));
        let rows = std::mem::take(&mut self.since_checkpoint).rows;
        let unwritten = files.tree.file().waiting_bytes() as u64;
        if rows > 0 && unwritten > 0 {
            let target = self.shared.options.checkpoint_bytes() as u64;
            self.checkpoint_rows = (rows * target / unwritten).clamp(64, 1 << 20);
        }
        Ok(())
    }

    fn now(&self) -> Time {
        self.last_at.max(self.shared.options.clock.now())
    }
}

fn decide(commit_batch: &mut CommitBatch<'_>, write: Write) -> Result<Outcome, Error> {
    match write {
        Write::Put(put) => commit_batch.put(put).map(Outcome::Image),
        Write::Update(update) => commit_batch.update(update).map(Outcome::Image),
        Write::Delete(delete) => commit_batch.delete(delete).map(Outcome::Image),
        Write::Batch(batch) => commit_batch.batch_write(batch).map(Outcome::Unprocessed),
        Write::Transaction(prepared) => {
            commit_batch.transact_write(*prepared).map(|()| Outcome::Nothing)
        }
        Write::Expire => commit_batch.expire().map(|()| Outcome::Nothing),
    }
}

fn incomplete(derived: &[super::format::Derived]) -> Vec<SpaceId> {
    let open = derived.iter().filter(|derived| derived.build != BuildState::Complete);
    open.map(|derived| derived.space).collect()
}

/// Removes some rows of a dead space; when none are left, the record that it is dead.
fn purge(rows: &mut RowsMut<'_>, path: &Path, space: SpaceId) -> Result<(), Error> {
    let some = first_rows(rows, path, &(space.start(), space.end()))?;
    for row in &some {
        rows.remove(row.as_slice()).map_err(|error| failed(path, error))?;
    }
    if some.is_empty() {
        for key in [SystemKey::Dead(space), SystemKey::Stats(space)] {
            rows.remove(key.row().as_slice()).map_err(|error| failed(path, error))?;
        }
    }
    Ok(())
}

fn forget_tokens(rows: &mut RowsMut<'_>, path: &Path, now: Time) -> Result<(), Error> {
    for row in first_rows(rows, path, &SystemKey::tokens_before(now.0))? {
        let token = SystemKey::expiring_token(&row);
        let token = token.map_err(|why| super::damaged(path, 0, why.0))?;
        // The token may have been used again since; then a later row records its expiry.
        let token = SystemKey::Token(token).row();
        let expired = {
            let known = rows.get(token.as_slice()).map_err(|error| failed(path, error))?;
            known.is_some_and(|known| super::commit_batch::token_expired(known.value(), now))
        };
        if expired {
            rows.remove(token.as_slice()).map_err(|error| failed(path, error))?;
        }
        rows.remove(row.as_slice()).map_err(|error| failed(path, error))?;
    }
    Ok(())
}

fn first_rows(
    rows: &RowsMut<'_>,
    path: &Path,
    (from, to): &super::tree::RowRange,
) -> Result<Vec<Vec<u8>>, Error> {
    let range = rows.range(from.as_slice()..to.as_slice()).map_err(|error| failed(path, error))?;
    let keys = range.take(PURGE_ROWS).map(|entry| entry.map(|(row, _)| row.value().to_vec()));
    keys.collect::<Result<_, _>>().map_err(|error| failed(path, error))
}

/// Fails waiting callers when the committer ends.
struct AbandonOnDrop(Arc<Shared>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        if thread::panicking() {
            // The tree may have what the log lacks.
            let (doing, path) = ("writing", self.0.directory.clone());
            let kind = std::io::ErrorKind::InvalidData;
            let cause = std::io::Error::new(kind, "the committer thread panicked");
            self.0.fail(Error::WritesRefused(Arc::new(Failure { doing, path, cause })));
        }
        self.0.queue.abandon();
    }
}
