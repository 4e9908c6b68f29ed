//! What the outside sees of the engine.

use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use keyloom_value::Item;

use crate::slice::{Interrupt, interruptible, leave_interrupting, yield_point};
use crate::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, ColumnPart, Damage, Delete,
    Error, Get, ListSets, Page, Put, Query, Read, ReadChanges, ReadColumn, ReadSet, Scan, SetName,
    SetPart, SetSize, Sets, ShardId, Store, TableDescription, TableName, TableSpec, Time,
    TransactGet, TransactWrite, UpdateItem,
};

use super::backup::{self, CopyProgress, OnProgress, Restore};
use super::chores::{self, Stop};
use super::committer::Committer;
use super::compact::{Compaction, OnCompaction};
use super::format::CommitNo;
use super::open::{IfMissing, open};
use super::options::{Background, Options};
use super::prepared::Prepared;
use super::queue::{Done, Task, Work, Write};
use super::salvage::Salvaged;
use super::scrub::{OnScrub, Scrub, Scrubbed};
use super::shared::Shared;
use super::view::View;
use super::{compact, feed, increment, io_error, rebuild, reply, salvage, scrub, walk};

/// A store in a directory.
///
/// Any number of threads may use it. Reads are answered on the calling thread and never wait for
/// writes; writes are handed to the engine's one writer. Dropping it stops its threads; what was
/// acknowledged is safe with or without that.
pub struct Engine {
    shared: Arc<Shared>,
    committer: Option<JoinHandle<()>>,
    chores: Option<JoinHandle<()>>,
    stop: Arc<Stop>,
}

/// How an engine is doing.
#[derive(Clone, Debug)]
pub struct Status {
    /// The last commit that readers see.
    pub commit: u64,
    /// The last commit that is safe on disk.
    pub synced: u64,
    /// The last commit that the tree on disk has: opening after a crash replays what follows.
    pub checkpointed: u64,
    /// The oldest commit in the log.
    pub oldest: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Files of the log.
    pub log_segments: usize,
    /// Bytes that the tree's file takes on the disk.
    pub tree_bytes: u64,
    /// Bytes that the rows in it would take without gaps, about. What is left could be returned to
    /// the system.
    pub tree_live_bytes: u64,
    /// Bytes of trees that compaction has replaced and somebody still reads.
    pub retired_bytes: u64,
    /// Bytes of the tree that wait to be written to its file.
    pub unwritten_bytes: usize,
    /// Groups of commits since it was opened; each is logged with one sync.
    pub groups: u64,
    /// Commits since it was opened.
    pub commits: u64,
    /// Syncs of the log since it was opened.
    pub syncs: u64,
    /// How long all of them took together.
    pub sync_time: Duration,
    /// Blocks of the tree that were verified in the background since it was opened.
    pub scrubbed_blocks: u64,
    /// When everything was last verified, if that has happened since it was opened.
    pub scrubbed_at: Option<Time>,
    /// Damaged places of its files that were found so, or by whoever read them, up to 1,000.
    pub damages: u64,
    /// The one found last.
    pub last_damage: Option<Arc<Damage>>,
    /// Compactions since it was opened.
    pub compactions: u64,
    /// Compactions that failed and changed nothing.
    pub compactions_failed: u64,
    /// Free bytes of the file system that it is on, if they can be told.
    pub disk_free_bytes: Option<u64>,
    /// Bytes that the file system has, if they can be told.
    pub disk_bytes: Option<u64>,
    /// Why no more writes are taken, if that is so.
    pub failure: Option<Error>,
}

impl Engine {
    /// Opens the store in a directory, or creates one if the directory is empty or does not exist.
    ///
    /// Opening repairs what a crash left: commits that the tree lacks are replayed from the log, and
    /// a frame that was being written is cut off. Damage is reported as [`Error::Damaged`] and left as
    /// it is. A directory that cannot be written is opened for reading. A directory that is neither
    /// empty nor provably a data directory is refused, and nothing in it is changed.
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
        let mut engine = Engine { shared, committer: None, chores: None, stop };
        let committer = Committer::new(Arc::clone(&engine.shared), log);
        engine.committer = Some(engine.spawn("keyloom-commit", move || committer.run())?);
        if background == Background::Threads {
            let (shared, stop) = (Arc::clone(&engine.shared), Arc::clone(&engine.stop));
            let run = move || chores::run(&shared, &stop);
            engine.chores = Some(engine.spawn("keyloom-chores", run)?);
        }
        Ok(engine)
    }

    /// The directory that it was opened in.
    pub fn directory(&self) -> &Path {
        &self.shared.directory
    }

    /// Brings everything to the disk and closes the store.
    pub fn close(mut self) -> Result<(), Error> {
        let checkpointed = match self.shared.options.read_only {
            true => Ok(()),
            false => self.checkpoint(),
        };
        self.stop_threads();
        checkpointed
    }

    /// Brings the tree on disk up to now, so that the next open has nothing to replay.
    pub fn checkpoint(&self) -> Result<(), Error> {
        reply::wait(self.submit(Work::Alone(Task::Checkpoint))).map(drop)
    }

    /// Does all background work there is: fills indexes, removes what has expired, trims the log.
    pub fn settle(&self) -> Result<(), Error> {
        chores::settle(&self.shared, &self.stop)
    }

    /// Copies the tree into a file without gaps while the store is in use, so that what deletions have
    /// freed goes back to the system. Needs room for the copy. If that fails, everything is as before.
    /// Happens by itself when there is much to return ([`Options::compact_from_bytes`]).
    pub fn compact(&self, on_progress: OnCompaction<'_>) -> Result<Compaction, Error> {
        compact::compact(&self.shared, &self.stop, on_progress)
    }

    /// How the engine is doing.
    pub fn status(&self) -> Result<Status, Error> {
        let (commit, files) = (self.shared.view().applied, self.shared.files());
        let (damages, last_damage) = self.shared.damages();
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
            groups: self.shared.meters.groups(),
            commits: commit.0.saturating_sub(self.shared.opened_at.0),
            syncs: self.shared.meters.syncs(),
            sync_time: self.shared.meters.sync_time(),
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

    /// Copies the store as it is now into a directory, while it is in use. The copy can be
    /// opened, or brought to a later moment with [`Engine::restore`].
    pub fn backup(
        &self,
        target: impl AsRef<Path>,
        on_progress: OnProgress<'_>,
    ) -> Result<CopyProgress, Error> {
        let disk = Arc::clone(&self.shared.options.disk);
        let (view, store) = (self.shared.view(), self.shared.names.store);
        // A backup must not have what a crash could still take from the log. What was found when the
        // store was opened is safe, or else is only read.
        self.shared.sync_log().map_err(|error| self.shared.fail(error))?;
        backup::backup(&view, disk, store, target.as_ref(), on_progress)
    }

    /// Copies what was written since an earlier backup, whole or incremental, into a directory, while
    /// the store is in use. The copy is one of the logs of a [`Restore`]. An error if the log does not
    /// reach back so far.
    pub fn backup_since(
        &self,
        since: impl AsRef<Path>,
        target: impl AsRef<Path>,
        on_progress: OnProgress<'_>,
    ) -> Result<CopyProgress, Error> {
        increment::increment(&self.shared, since.as_ref(), target.as_ref(), on_progress)
    }

    /// Makes a store out of a backup and a log, as it was at a moment. Its feed begins there.
    pub fn restore(
        restore: &Restore,
        options: &Options,
        on_progress: OnProgress<'_>,
    ) -> Result<CopyProgress, Error> {
        let disk = Arc::clone(&options.disk);
        backup::restore(restore, disk, options.clock.now(), on_progress)
    }

    /// Rebuilds the tree of a directory whose tree is damaged, and which nobody has open: from the
    /// log if that reaches back to the first commit, otherwise from a backup and the log. Every row
    /// is then what it was at the last commit. Nothing is read of the old tree, which is replaced
    /// when the new one is complete; until then the disk needs room for both.
    ///
    /// # Errors
    ///
    /// [`Error::BackupNeeded`] if the log does not suffice and there is no backup,
    /// [`Error::WrongBackup`] if the log does not continue after the backup, [`Error::Damaged`] if
    /// the log or the backup is damaged too. Nothing was changed then.
    pub fn rebuild(
        directory: impl AsRef<Path>,
        backup: Option<&Path>,
        options: &Options,
        on_progress: OnProgress<'_>,
    ) -> Result<CopyProgress, Error> {
        rebuild::rebuild(directory.as_ref(), backup, options, on_progress)
    }

    /// Makes a tree out of what can still be read of a damaged one, in a directory that nobody has open:
    /// for a store that [`Engine::rebuild`] cannot rebuild. Rows in damaged pages are lost. Every item
    /// that is there afterwards was there before, and indexes and counts fit the items that are left;
    /// sets are kept whole, or dropped and to be filled again. What is in the log beyond the damaged tree is
    /// replayed.
    /// The damaged tree is replaced when the new one is complete.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if the records of the tables cannot be read, or the log is damaged too. Nothing
    /// was changed then.
    pub fn salvage(
        directory: impl AsRef<Path>,
        options: &Options,
        on_progress: OnProgress<'_>,
    ) -> Result<Salvaged, Error> {
        salvage::salvage(directory.as_ref(), options, on_progress)
    }

    /// Verifies what is on disk, while the store is in use: the blocks of the tree, the frames of the
    /// log, and if asked for every row. Nothing is repaired.
    pub fn scrub(&self, scrub: &Scrub, on_progress: OnScrub<'_>) -> Result<Scrubbed, Error> {
        scrub::scrub_open(&self.shared, scrub, on_progress)
    }

    /// Verifies the files of a directory that nobody has open, also if it is damaged so that it cannot
    /// be opened. Rows are compared only if it can be. Nothing in the directory is changed.
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
        // A thread that panicked has told its callers already.
        if let Some(chores) = self.chores.take() {
            let _ = chores.join();
        }
        self.shared.queue.close();
        if let Some(committer) = self.committer.take() {
            let _ = committer.join();
        }
    }

    fn submit(&self, work: Work) -> impl Future<Output = Result<Done, Error>> + Send + use<> {
        let receiver = self.shared.queue.submit(work);
        async move { receiver.await.unwrap_or(Err(Error::Closed)) }
    }

    fn submit_for_image(&self, work: Work) -> Answer<'_, Option<Item>> {
        let done = self.submit(work);
        Box::pin(async move {
            match done.await? {
                Done::Image(image) => Ok(image),
                Done::Leftover(_) | Done::Table(_) | Done::Nothing => Ok(None),
            }
        })
    }

    fn submit_for_table(&self, work: Work) -> Answer<'_, TableDescription> {
        let done = self.submit(work);
        Box::pin(async move {
            match done.await? {
                Done::Table(description) => Ok(*description),
                Done::Image(_) | Done::Leftover(_) | Done::Nothing => Err(Error::Closed),
            }
        })
    }

    /// A read at one moment, which is not kept while the read is parked.
    fn read<'a, T: Send + 'a>(
        &'a self,
        read: impl FnOnce(&View) -> Result<T, Error> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            yield_point().await;
            read(&self.shared.view())
        })
    }

    /// The same for a read that can be long. Each attempt has a moment of its own.
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
        self.read_long(move |view, interrupt| view.get_together(&transaction, interrupt))
    }

    fn sets(&self) -> Option<&dyn Sets> {
        Some(self)
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
        self.submit_for_table(Work::Alone(Task::CreateTable(spec)))
    }

    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription> {
        self.submit_for_table(Work::Alone(Task::AlterTable(table, change)))
    }

    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.submit_for_table(Work::Alone(Task::DropTable(table)))
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        self.submit_for_image(Work::Grouped(Write::Put(put)))
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        self.submit_for_image(Work::Grouped(Write::Update(update)))
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        self.submit_for_image(Work::Grouped(Write::Delete(delete)))
    }

    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite> {
        let done = self.submit(Work::Grouped(Write::Batch(batch)));
        Box::pin(async move {
            match done.await? {
                Done::Leftover(batch) => Ok(batch),
                Done::Image(_) | Done::Table(_) | Done::Nothing => Ok(BatchWrite::default()),
            }
        })
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        let prepared = match Prepared::new(transaction, &self.shared.view().catalog) {
            Ok(prepared) => Box::new(prepared),
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let done = self.submit(Work::Grouped(Write::Transaction(prepared)));
        Box::pin(async move { done.await.map(drop) })
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async move {
            // Reads of a snapshot have no yield points: its moment is kept until they are done.
            leave_interrupting().await;
            let view: Arc<dyn Read> = self.shared.view();
            Ok(view)
        })
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<ShardId>> {
        self.read(move |view| feed::shards(view, self.shared.names, &table))
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        self.read(move |view| {
            let (files, names) = (self.shared.files(), self.shared.names);
            let synced = CommitNo(files.synced.load(Ordering::Acquire));
            let changes = feed::changes(view, names, (&files.log, synced), &read);
            changes.inspect_err(|error| self.shared.found_damages.note_error(error))
        })
    }

    /// The directory is locked, and an opening that has written anything ends at a later commit.
    fn opening(&self) -> Option<u64> {
        Some(self.shared.opened_at.0)
    }

    fn adds_numbers(&self) -> bool {
        true
    }
}
