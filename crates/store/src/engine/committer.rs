//! The one thread that writes: it takes all writes that wait, decides them in order, logs them
//! with one sync, brings them into the tree, lets readers see them, and only then answers.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use crate::{Error, Failure, TableName, Time, validate};

use super::alter::{altered, created};
use super::apply::Apply;
use super::compact::Candidate;
use super::format::{BuildState, Commit, CommitNo, Effect, SpaceId, SystemKey, TableId};
use super::group::{Group, Planned};
use super::log::LogWriter;
use super::options::{Background, CHECKPOINT_LOG_BYTES, Durability};
use super::queue::{Done, Job, Reply, Task, Work, Write};
use super::resume;
use super::rows_mut::RowsMut;
use super::shared::Shared;
use super::tree::failed;
use super::view::View;

/// A group takes no more writes once its items have so many bytes.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// Items that one step of filling an index looks at, and their bytes.
const FILL_ITEMS: u32 = 256;
const FILL_BYTES: u32 = 1 << 20;
/// A group of so many bytes is brought into the tree while the log is synced: a thread for that costs
/// less than the wait.
const BESIDE_SYNC_BYTES: u64 = 64 << 10;
/// Rows that one step of cleaning removes.
const PURGE_ROWS: usize = 1000;

pub(crate) struct Committer {
    shared: Arc<Shared>,
    log: LogWriter,
    /// When the last commit happened. Times of commits never go back.
    last_at: Time,
    since_checkpoint: SinceCheckpoint,
    /// Rows after which a checkpoint is due: as many as make half of what may be unwritten.
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

    /// Works until the queue is closed and empty, then brings the tree to the disk.
    pub(crate) fn run(mut self) {
        // Should this thread ever panic, callers must not wait for it.
        let _abandon = AbandonOnDrop(Arc::clone(&self.shared));
        while let Some(jobs) = self.shared.queue.take() {
            self.serve(jobs);
        }
        if self.shared.check().is_ok() {
            // The log has everything; a tree that is behind only makes the next open slower.
            let _ = self.checkpoint();
        }
    }

    fn serve(&mut self, jobs: Vec<Job>) {
        let mut grouped = Vec::new();
        for Job { work, reply } in jobs {
            match work {
                Work::Grouped(write) => grouped.push((write, reply)),
                Work::Alone(task) => {
                    self.serve_grouped(std::mem::take(&mut grouped));
                    reply.send(self.serve_alone(task));
                    self.checkpoint_if_due();
                }
            }
        }
        self.serve_grouped(grouped);
    }

    fn serve_grouped(&mut self, writes: Vec<(Write, Reply)>) {
        let mut writes = writes.into_iter().peekable();
        while writes.peek().is_some() {
            let view = self.shared.view();
            let mut group = Group::new(&view, self.now());
            let mut answers = Vec::new();
            while group.bytes() < GROUP_BYTES_MAX
                && let Some((write, reply)) = writes.next()
            {
                answers.push((reply, decide(&mut group, write)));
            }
            let planned = group.into_planned();
            // A reader of the moment before would make redb keep a list of freed pages after the
            // checkpoint and go through it with every commit; so nobody here is one.
            drop(view);
            let committed = self.commit(planned);
            for (reply, outcome) in answers {
                reply.send(committed.clone().and(outcome));
            }
            self.checkpoint_if_due();
        }
    }

    fn serve_alone(&mut self, task: Task) -> Result<Done, Error> {
        if let Task::Resume = task {
            return self.resume().map(|()| Done::Nothing);
        }
        self.shared.check()?;
        match task {
            Task::Resume => Ok(Done::Nothing),
            Task::ReplaceTree(candidate) => self.replace_tree(*candidate).map(|()| Done::Nothing),
            Task::CreateTable(spec) => {
                validate::table_spec(&spec)?;
                let view = self.shared.view();
                if view.catalog.table(&spec.name).is_ok() {
                    return Err(Error::TableExists { table: spec.name });
                }
                let name = spec.name.clone();
                let record = created(&view.catalog, spec, self.now());
                self.commit_effect(Effect::SetTable(record))?;
                self.described(&name)
            }
            Task::AlterTable(name, change) => {
                let view = self.shared.view();
                let table = view.catalog.table(&name)?;
                validate::alteration(&table.spec, &change)?;
                let record = altered(&view.catalog, table, change, self.log.next());
                let spaces: Vec<SpaceId> = incomplete(&record.derived);
                let id = record.id;
                self.commit_effect(Effect::SetTable(record))?;
                self.fill_if_empty(id, &spaces)?;
                self.described(&name)
            }
            Task::DropTable(name) => {
                let view = self.shared.view();
                let id = view.catalog.table(&name)?.id;
                let description = view.describe(&name)?;
                self.commit_effect(Effect::DropTable(id))?;
                Ok(Done::Table(Box::new(description)))
            }
            Task::Fill(table, space) => self.fill(table, space).map(|()| Done::Nothing),
            Task::Purge(space) => {
                self.clean(|rows, path| purge(rows, path, space)).map(|()| Done::Nothing)
            }
            Task::ForgetTokens => {
                let now = self.now();
                self.clean(|rows, path| forget_tokens(rows, path, now)).map(|()| Done::Nothing)
            }
            Task::Checkpoint => {
                self.checkpoint()?;
                self.shared.files().tree.file().drain().map_err(Error::WritesRefused)?;
                Ok(Done::Nothing)
            }
        }
    }

    fn described(&self, name: &TableName) -> Result<Done, Error> {
        Ok(Done::Table(Box::new(self.shared.view().describe(name)?)))
    }

    /// Opens the files again after a fault, and goes on with them.
    fn resume(&mut self) -> Result<(), Error> {
        let writer = resume::open_again(&self.shared)?;
        self.log = writer;
        self.last_at = self.last_at.max(self.shared.view().applied_at);
        self.since_checkpoint = SinceCheckpoint::default();
        Ok(())
    }

    /// Goes on with a compacted tree.
    fn replace_tree(&mut self, candidate: Candidate) -> Result<(), Error> {
        self.log.sync().map_err(|error| self.shared.fail(error))?;
        candidate.replace(&self.shared, self.log.active())?;
        self.since_checkpoint = SinceCheckpoint::default();
        Ok(())
    }

    /// One step of filling derived rows, if they are still there to be filled.
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

    /// Derived rows of a table without items are complete at once.
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

    /// Logs commits, brings them into the tree and lets readers see them. After an error it is
    /// not known which of them survive, so no more writes are taken.
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
        self.shared.meters.count_group();
        self.shared.publish(view);
        self.since_checkpoint.rows += rows;
        Ok(())
    }

    /// Returns how many rows were written, and the moment at which readers see them. Nobody may
    /// before the log is synced, but much is brought into the tree meanwhile.
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
                // Nobody does it beside.
                None => self.sync()?,
            }
            applied
        })
    }

    /// Returns the last commit, and how many bytes all are in the log.
    fn append(&mut self, planned: &[Planned]) -> Result<(CommitNo, u64), Error> {
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
            Durability::Sync => self.shared.meters.sync(|| self.log.sync()),
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

    /// Removes rows that no reader can reach. Nothing of it is logged: replaying the log brings
    /// such rows back, and they are removed again.
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
            // A failure stops the next write; the writes before it are safe in the log.
            let _ = self.checkpoint();
        }
    }

    /// Starts bringing the tree to the disk. The log goes first, so that the tree on disk never
    /// has a commit that the log lacks.
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

fn decide(group: &mut Group<'_>, write: Write) -> Result<Done, Error> {
    match write {
        Write::Put(put) => group.put(put).map(Done::Image),
        Write::Update(update) => group.update(update).map(Done::Image),
        Write::Delete(delete) => group.delete(delete).map(Done::Image),
        Write::Batch(batch) => group.batch_write(batch).map(Done::Leftover),
        Write::Transaction(prepared) => group.transact_write(*prepared).map(|()| Done::Nothing),
        Write::Expire => group.expire().map(|()| Done::Nothing),
    }
}

fn incomplete(derived: &[super::format::Derived]) -> Vec<SpaceId> {
    let open = derived.iter().filter(|derived| derived.build != BuildState::Complete);
    open.map(|derived| derived.space).collect()
}

/// Removes some rows of a dead space; when none are left, the note that it is dead.
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
        // The token may have been used again since; then a later row stands for it.
        let token = SystemKey::Token(token).row();
        let expired = {
            let known = rows.get(token.as_slice()).map_err(|error| failed(path, error))?;
            known.is_some_and(|known| super::group::token_expired(known.value(), now))
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

/// Tells waiting callers when the committer is gone.
struct AbandonOnDrop(Arc<Shared>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        if thread::panicking() {
            // The tree may have what the log lacks.
            let (doing, path) = ("writing", self.0.directory.clone());
            let kind = std::io::ErrorKind::InvalidData;
            let cause = std::io::Error::new(kind, "the committer has panicked");
            self.0.fail(Error::WritesRefused(Arc::new(Failure { doing, path, cause })));
        }
        self.0.queue.abandon();
    }
}
