//! The public interface of the engine.

use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use keyloom_value::Item;

use crate::limits::OWN_GLOBAL_INDEXES_MAX;
use crate::slice::{Interrupt, interruptible, leave_interrupting, yield_point};
use crate::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, ColumnPart, Damage, Delete,
    Error, Get, IndexedItems, ItemsPage, ListSets, Page, Put, Query, Read, ReadChanges, ReadColumn,
    ReadItems, ReadSet, Scan, SeqNo, SetName, SetPart, SetSize, Sets, Shard, Store,
    TableDescription, TableName, TableSpec, Time, TransactGet, TransactWrite, UpdateItem,
};

use super::backup::{self, CopyProgress, OnProgress};
use super::committer::Committer;
use super::compactions::{Compaction, OnCompaction};
use super::format::CommitNo;
use super::maintenance;
use super::open::{IfMissing, open};
use super::options::{Background, Options};
use super::prepared::Prepared;
use super::queue::{Operation, Outcome, Work, Write};
use super::restore::Restore;
use super::salvage::Salvaged;
use super::scrub::Scrub;
use super::scrub_report::{OnScrub, Scrubbed};
use super::shared::Shared;
use super::stop::Stop;
use super::view::View;
use super::{compact, feed, increment, io_error, rebuild, reply, restore, salvage, scrub, walk};

/// A store in a directory.
///
/// Any number of threads can use it. Reads run on the calling thread and never wait for writes;
/// writes are handed to the engine's single writer thread. Dropping it stops its threads;
/// acknowledged writes are durable either way.
pub struct Engine {
    shared: Arc<Shared>,
    committer: Option<JoinHandle<()>>,
    maintenance: Option<JoinHandle<()>>,
    stop: Arc<Stop>,
}

/// The state of an engine: positions, sizes, and counters since it was opened.
#[derive(Clone, Debug)]
pub struct Status {
    /// The last commit that readers see.
    pub commit: u64,
    /// The last commit that is durable.
    pub synced: u64,
    /// The last commit in the tree on disk: opening after a crash replays what follows it.
    pub checkpointed: u64,
    /// The oldest commit in the log.
    pub oldest: u64,
    /// The size of the log in bytes.
    pub log_bytes: u64,
    /// The number of log segment files.
    pub log_segments: usize,
    /// The size of the tree's file in bytes.
    pub tree_bytes: u64,
    /// Approximate size of the tree's rows without free space, in bytes. Compaction can return the
    /// rest to the file system.
    pub tree_live_bytes: u64,
    /// Size in bytes of trees that compaction has replaced and readers still use.
    pub retired_bytes: u64,
    /// Bytes of the tree that are not written to its file yet.
    pub unwritten_bytes: usize,
    /// Memory that cached pages of the tree take, at most.
    pub cache_bytes: usize,
    /// Reads of the tree's file, because its pages were not cached. Starts again at 0 with a new file: when the
    /// tree is compacted, or reopened after a fault.
    pub cache_misses: u64,
    /// Commit batches since it was opened; each is logged with one sync.
    pub commit_batches: u64,
    /// Commits since it was opened.
    pub commits: u64,
    /// Syncs of the log since it was opened.
    pub syncs: u64,
    /// The total time of these syncs.
    pub sync_time: Duration,
    /// Tree blocks verified in the background since it was opened.
    pub scrubbed_blocks: u64,
    /// When the last full background verification ended, if one has ended since it was opened.
    pub scrubbed_at: Option<Time>,
    /// Damaged positions found in its files by the background verification or by readers, at most
    /// 1,000.
    pub damages: u64,
    /// The damage found last.
    pub last_damage: Option<Arc<Damage>>,
    /// Compactions since it was opened.
    pub compactions: u64,
    /// Compactions that failed and changed nothing.
    pub compactions_failed: u64,
    /// Free bytes of the file system that holds it, if the platform reports them.
    pub disk_free_bytes: Option<u64>,
    /// Total bytes of the file system, if the platform reports them.
    pub disk_bytes: Option<u64>,
    /// Why writes are refused, if they are.
    pub failure: Option<Error>,
}

impl Engine {
    /// Opens the store in a directory, or creates one if the directory is empty or does not exist.
    ///
    /// Opening repairs what a crash left: it replays commits that the tree lacks from the log and
    /// cuts off a torn frame. Damage is reported as [`Error::Damaged`] and left as it is. A
    /// directory that cannot be written is opened read-only. A directory that is neither empty nor
    /// provably a data directory is refused, and nothing in it is changed.
    pub fn open(directory: impl AsRef<Path>, options: Options) -> Result<Engine, Error> {
        Engine::start(directory.as_ref(), options, IfMissing::Create)
    }

    /// Opens the store in a directory, as [`Engine::open`] does, but never creates one.
    pub fn open_existing(directory: impl AsRef<Path>, options: Options) -> Result<Engine, Error> {
        Engine::start(directory.as_ref(), options, IfMissing::Refuse)
    }

    fn start(path: &Path, options: Options, if_missing: IfMissing) -> Result<Engine, Error> {
        let background = options.background;
        let (shared, log) = open(path, options, if_missing)?;
        let shared = Arc::new(shared);
        let stop = Arc::new(Stop::default());
        let mut engine = Engine { shared, committer: None, maintenance: None, stop };
        let committer = Committer::new(Arc::clone(&engine.shared), log);
        engine.committer = Some(engine.spawn("keyloom-commit", move || committer.run())?);
        if background == Background::Threads {
            let (shared, stop) = (Arc::clone(&engine.shared), Arc::clone(&engine.stop));
            let run = move || maintenance::run(&shared, &stop);
            engine.maintenance = Some(engine.spawn("keyloom-maint", run)?);
        }
        Ok(engine)
    }

    /// The directory that it was opened in.
    pub fn directory(&self) -> &Path {
        &self.shared.directory
    }

    /// Checkpoints the tree and closes the store.
    pub fn close(mut self) -> Result<(), Error> {
        let checkpointed = match self.shared.options.read_only {
            true => Ok(()),
            false => self.checkpoint(),
        };
        self.stop_threads();
        checkpointed
    }

    /// Brings the tree on disk up to date, so that the next open has nothing to replay.
    pub fn checkpoint(&self) -> Result<(), Error> {
        reply::wait(self.submit(Work::Exclusive(Operation::Checkpoint))).map(drop)
    }

    /// Runs all pending background work: builds indexes, removes expired items, trims the log.
    pub fn settle(&self) -> Result<(), Error> {
        maintenance::settle(&self.shared, &self.stop)
    }

    /// Copies the tree into a file without free space while the store is in use, which returns
    /// space freed by deletions to the file system. Needs room for the copy. On failure, everything
    /// is as before. Runs by itself when there is enough to gain ([`Options::compact_from_bytes`]).
    pub fn compact(&self, on_progress: OnCompaction<'_>) -> Result<Compaction, Error> {
        compact::compact(&self.shared, &self.stop, on_progress)
    }

    /// Returns the state of the engine.
    pub fn status(&self) -> Result<Status, Error> {
        let (commit, files) = (self.shared.view().applied, self.shared.files());
        let (damages, last_damage) = self.shared.damage();
        let (compactions, compactions_failed) = self.shared.compactions.counts();
        Ok(Status {
            commit: commit.0,
            synced: files.synced.load(Ordering::Acquire),
            checkpointed: files.in_tree().0,
            oldest: files.log.oldest().unwrap_or(commit.next()).0,
            log_bytes: files.log.bytes()?,
            log_segments: files.log.segments().len(),
            tree_bytes: files.tree.file().bytes(),
            tree_live_bytes: files.tree.live_bytes(),
            retired_bytes: self.shared.retired_bytes(),
            unwritten_bytes: files.tree.file().waiting_bytes(),
            cache_bytes: self.shared.options.cache_bytes(),
            cache_misses: files.tree.file().reads(),
            commit_batches: self.shared.metrics.batches(),
            commits: commit.0.saturating_sub(self.shared.opened_at.0),
            syncs: self.shared.metrics.syncs(),
            sync_time: self.shared.metrics.sync_time(),
            scrubbed_blocks: self.shared.scrub.blocks(),
            scrubbed_at: self.shared.scrub.completed_at(),
            damages,
            last_damage,
            compactions,
            compactions_failed,
            disk_free_bytes: self.shared.free_bytes(),
            disk_bytes: self.shared.total_bytes(),
            failure: self.shared.check().err(),
        })
    }

    /// Copies the store in its current state into a directory, while it is in use. The copy can be
    /// opened, or rolled forward with [`Engine::restore`].
    pub fn backup(
        &self,
        target: impl AsRef<Path>,
        on_progress: OnProgress<'_>,
    ) -> Result<CopyProgress, Error> {
        let disk = Arc::clone(&self.shared.options.disk);
        let (view, store) = (self.shared.view(), self.shared.ids.store);
        // A backup must not contain what a crash could still take from the log. What was found when
        // the store was opened is durable, or the store is read-only.
        self.shared.sync_log().map_err(|error| self.shared.fail(error))?;
        backup::backup(&view, disk, store, target.as_ref(), on_progress)
    }

    /// Copies what was written since an earlier backup, full or incremental, into a directory,
    /// while the store is in use. The copy is one of the logs of a [`Restore`]. Fails if the log
    /// does not reach back that far.
    pub fn backup_since(
        &self,
        since: impl AsRef<Path>,
        target: impl AsRef<Path>,
        on_progress: OnProgress<'_>,
    ) -> Result<CopyProgress, Error> {
        increment::increment(&self.shared, since.as_ref(), target.as_ref(), on_progress)
    }

    /// Creates a store from a backup and a log, as of a point in time. Its feed begins there.
    pub fn restore(
        restore: &Restore,
        options: &Options,
        on_progress: OnProgress<'_>,
    ) -> Result<CopyProgress, Error> {
        let disk = Arc::clone(&options.disk);
        restore::restore(restore, disk, options.clock.now(), on_progress)
    }

    /// Rebuilds the damaged tree of a directory that no process has open: from the log if that
    /// reaches back to the first commit, otherwise from a backup and the log. Every row then is
    /// what it was at the last commit. The old tree is not read; it is replaced when the new one is
    /// complete, and until then the disk needs room for both.
    ///
    /// # Errors
    ///
    /// [`Error::BackupNeeded`] if the log does not suffice and no backup is given,
    /// [`Error::WrongBackup`] if the log does not continue the backup, [`Error::Damaged`] if the
    /// log or the backup is damaged too. Nothing is changed then.
    pub fn rebuild(
        directory: impl AsRef<Path>,
        backup: Option<&Path>,
        options: &Options,
        on_progress: OnProgress<'_>,
    ) -> Result<CopyProgress, Error> {
        rebuild::rebuild(directory.as_ref(), backup, options, on_progress)
    }

    /// Builds a tree from the readable parts of a damaged one, in a directory that no process has
    /// open: for a store that [`Engine::rebuild`] cannot rebuild. Rows in damaged pages are lost.
    /// Every item present afterwards was present before, and indexes and counts match the remaining
    /// items; sets are kept whole, or dropped and must be filled again. What the log has beyond the
    /// damaged tree is replayed. The damaged tree is replaced when the new one is complete.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if the records of the tables cannot be read, or the log is damaged too.
    /// Nothing is changed then.
    pub fn salvage(
        directory: impl AsRef<Path>,
        options: &Options,
        on_progress: OnProgress<'_>,
    ) -> Result<Salvaged, Error> {
        salvage::salvage(directory.as_ref(), options, on_progress)
    }

    /// Verifies what is on disk, while the store is in use: the blocks of the tree, the frames of
    /// the log, and optionally every row. Repairs nothing.
    pub fn scrub(&self, scrub: &Scrub, on_progress: OnScrub<'_>) -> Result<Scrubbed, Error> {
        scrub::scrub_open(&self.shared, scrub, on_progress)
    }

    /// Verifies the files of a directory that no process has open, even if it is too damaged to
    /// open. Compares rows only if it can be opened. Changes nothing in the directory.
    pub fn scrub_directory(
        directory: impl AsRef<Path>,
        scrub: &Scrub,
        options: &Options,
        on_progress: OnScrub<'_>,
    ) -> Result<Scrubbed, Error> {
        let (directory, options) = (directory.as_ref(), options.clone());
        let found = scrub::scrub_closed(directory, scrub, &options, on_progress)?;
        match scrub {
            Scrub::Rows { .. } if found.findings == 0 => {
                let options = Options { read_only: true, ..options };
                Engine::open_existing(directory, options)?.scrub(scrub, on_progress)
            }
            Scrub::Tree | Scrub::Files | Scrub::Rows { .. } => Ok(found),
        }
    }

    fn spawn(
        &self,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<JoinHandle<()>, Error> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
        thread.map_err(io_error("starting a thread", &self.shared.directory))
    }

    fn stop_threads(&mut self) {
        self.stop.stop();
        // A thread that panicked has failed its callers already (`AbandonOnDrop`).
        if let Some(maintenance) = self.maintenance.take() {
            let _ = maintenance.join();
        }
        self.shared.queue.close();
        if let Some(committer) = self.committer.take() {
            let _ = committer.join();
        }
    }

    fn submit(&self, work: Work) -> impl Future<Output = Result<Outcome, Error>> + Send + use<> {
        let receiver = self.shared.queue.submit(work);
        async move { receiver.await.unwrap_or(Err(Error::Closed)) }
    }

    fn submit_for_image(&self, work: Work) -> Answer<'_, Option<Item>> {
        let done = self.submit(work);
        Box::pin(async move {
            match done.await? {
                Outcome::Image(image) => Ok(image),
                Outcome::Unprocessed(_) | Outcome::Table(_) | Outcome::Nothing => Ok(None),
            }
        })
    }

    fn submit_for_table(&self, work: Work) -> Answer<'_, TableDescription> {
        let done = self.submit(work);
        Box::pin(async move {
            match done.await? {
                Outcome::Table(description) => Ok(*description),
                Outcome::Image(_) | Outcome::Unprocessed(_) | Outcome::Nothing => {
                    Err(Error::Closed)
                }
            }
        })
    }

    /// Reads at one point in time. The view is not held while the read is parked.
    fn read<'a, T: Send + 'a>(
        &'a self,
        read: impl FnOnce(&View) -> Result<T, Error> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            yield_point().await;
            read(&self.shared.view())
        })
    }

    /// Like [`Engine::read`], for reads that can take long. Each attempt uses a view of its own.
    fn read_long<'a, T: Send + 'a>(
        &'a self,
        read: impl Fn(&View, &Interrupt) -> Result<T, Error> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(interruptible(move |interrupt| read(&self.shared.view(), interrupt)))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop_threads();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("directory", &self.shared.directory).finish_non_exhaustive()
    }
}

impl Read for Engine {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        self.read(|view| Ok(view.catalog.names().cloned().collect()))
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.read(move |view| view.describe(&table))
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.read(move |view| view.get_item(&get))
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        self.read_long(move |view, interrupt| walk::query(view, &query, interrupt))
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        self.read_long(move |view, interrupt| walk::scan(view, &scan, interrupt))
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        self.read_long(move |view, interrupt| view.get_batch(&batch, interrupt))
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        self.read_long(move |view, interrupt| view.get_transaction(&transaction, interrupt))
    }

    fn sets(&self) -> Option<&dyn Sets> {
        Some(self)
    }

    fn indexed_items(&self) -> Option<&dyn IndexedItems> {
        Some(self)
    }
}

impl IndexedItems for Engine {
    fn read_items(&self, read: ReadItems) -> Answer<'_, ItemsPage> {
        self.read_long(move |view, interrupt| view.items_of_index(&read, interrupt))
    }
}

impl Sets for Engine {
    fn set_sizes(&self, table: TableName, sets: Vec<SetName>) -> Answer<'_, Vec<u64>> {
        self.read(move |view| view.sizes_of_sets(&table, &sets))
    }

    fn read_set(&self, read: ReadSet) -> Answer<'_, SetPart> {
        self.read(move |view| view.part_of_set(&read))
    }

    fn list_sets(&self, list: ListSets) -> Answer<'_, Vec<SetSize>> {
        self.read(move |view| view.find_sets(&list))
    }

    fn read_column(&self, read: ReadColumn) -> Answer<'_, ColumnPart> {
        self.read_long(move |view, interrupt| view.part_of_column(&read, interrupt))
    }
}

impl Store for Engine {
    fn create_table(&self, spec: TableSpec) -> Answer<'_, TableDescription> {
        self.submit_for_table(Work::Exclusive(Operation::CreateTable(spec)))
    }

    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription> {
        self.submit_for_table(Work::Exclusive(Operation::AlterTable(table, change)))
    }

    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.submit_for_table(Work::Exclusive(Operation::DropTable(table)))
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        self.submit_for_image(Work::Batched(Write::Put(put)))
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        self.submit_for_image(Work::Batched(Write::Update(update)))
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        self.submit_for_image(Work::Batched(Write::Delete(delete)))
    }

    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite> {
        let done = self.submit(Work::Batched(Write::Batch(batch)));
        Box::pin(async move {
            match done.await? {
                Outcome::Unprocessed(batch) => Ok(batch),
                Outcome::Image(_) | Outcome::Table(_) | Outcome::Nothing => {
                    Ok(BatchWrite::default())
                }
            }
        })
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        let prepared = match Prepared::new(transaction, &self.shared.view().catalog) {
            Ok(prepared) => Box::new(prepared),
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let done = self.submit(Work::Batched(Write::Transaction(prepared)));
        Box::pin(async move { done.await.map(drop) })
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async move {
            // Reads of a snapshot have no yield points: its view is held until they are done.
            leave_interrupting().await;
            let view: Arc<dyn Read> = self.shared.view();
            Ok(view)
        })
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<Shard>> {
        self.read(move |view| feed::shards(view, self.shared.ids, &table))
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        self.read_long(move |view, interrupt| {
            let (files, ids) = (self.shared.files(), self.shared.ids);
            let synced = CommitNo(files.synced.load(Ordering::Acquire));
            let changes = feed::changes(view, ids, (&files.log, synced), &read, interrupt);
            changes.inspect_err(|error| self.shared.found_damage.note_error(error))
        })
    }

    fn when_changed(&self, after: SeqNo) -> Option<Answer<'_, ()>> {
        let shared = &self.shared;
        let has_changed = move || {
            let (files, view) = shared.current();
            let synced = CommitNo(files.synced.load(Ordering::Acquire));
            feed::has_after(after, view.applied, synced)
        };
        Some(Box::pin(async move {
            shared.feed.wait_until(has_changed).await;
            Ok(())
        }))
    }

    /// The directory is locked, and an engine that has written anything is next opened at a later
    /// commit.
    fn opening(&self) -> Option<u64> {
        Some(self.shared.opened_at.0)
    }

    fn adds_numbers(&self) -> bool {
        true
    }

    fn indexes_max(&self) -> usize {
        OWN_GLOBAL_INDEXES_MAX
    }
}
