//! Opening a data directory: lock it, check it, and replay the log into the tree.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::{DirectoryError, DiskFile, Error, Failure, OpenMode, Time};

use super::apply::Apply;
use super::catalog::Catalog;
use super::directory::{Contents, DataDirectory, new_store_id};
use super::files::Files;
use super::format::{
    Applied, Commit, CommitNo, History, Identity, Malformed, NextId, SystemKey, TableRecord,
};
use super::log::{FrameScan, LogDirectory, LogWalk, LogWriter, Scanned, Segment};
use super::options::{Background, CHECKPOINT_LOG_BYTES, Options};
use super::shared::Shared;
use super::tree::{Tree, TreeView};
use super::tree_file::{FlushBy, TreeFile};
use super::view::View;
use super::{damaged, io_error};

/// Commits applied in one tree transaction while replaying.
const REPLAY_COMMITS: usize = 1000;

/// What to do with a directory that holds no store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// Create one.
    Create,
    /// Return an error, and leave the directory as it is.
    Refuse,
}

/// Opens the store in a directory.
pub(crate) fn open(
    path: &Path,
    options: Options,
    if_missing: IfMissing,
) -> Result<(Shared, LogWriter), Error> {
    let directory = DataDirectory::new(Arc::clone(&options.disk), path);
    if if_missing == IfMissing::Refuse && !matches!(directory.contents()?, Contents::Store(_)) {
        return Err(DirectoryError::NoStore { directory: path.to_owned() }.into());
    }
    let (lock, contents) = directory.lock()?;
    let store = match contents {
        Contents::Store(store) => store,
        Contents::Empty | Contents::Unfinished => {
            let store = new_store_id(path, options.clock.now());
            let identity = Identity { store, history: History::Id(store) };
            directory.create(contents, identity, |_| Ok(CommitNo::NONE))?;
            store
        }
    };
    let history = match directory.history()? {
        History::Id(number) => number,
        History::Ended => new_store_id(path, options.clock.now()),
    };
    let ids = StoreIds { store, history };
    let OpenedFiles { files, view, writer } = open_files(&directory, ids, &options)?;
    Ok((Shared::new(options, path.to_owned(), (ids, lock), files, view), writer))
}

/// The ids of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreIds {
    /// Marks its files.
    pub(crate) store: u64,
    /// Distinguishes its commits from those of a copy.
    pub(crate) history: u64,
}

/// The opened files of a store.
pub(crate) struct OpenedFiles {
    pub(crate) files: Files,
    pub(crate) view: View,
    pub(crate) writer: LogWriter,
}

/// Opens the files of a store whose directory is locked. If they cannot be written, they can still
/// be read: what the tree lacks is replayed in memory.
pub(crate) fn open_files(
    directory: &DataDirectory,
    StoreIds { store, history }: StoreIds,
    options: &Options,
) -> Result<OpenedFiles, Error> {
    let (tree, mode) = open_tree(directory, store, options)?;
    if mode == OpenMode::ReadWrite {
        directory.complete_renames()?;
        refuse_writes_if_transient(&tree, directory.begin_history(history))?;
    }
    let log = LogDirectory::open(Arc::clone(&options.disk), directory.log(), store, mode)?;
    let log = Arc::new(log);
    let (mut catalog, in_tree, last_at) = load(&tree)?;
    let replay = Replay { tree: &tree, catalog: &mut catalog, applied: in_tree, last_at };
    let mut end = replay.run(&log, in_tree, &mut |_, _| Ok(()))?;
    if mode == OpenMode::ReadWrite
        && let Some(segment) =
            refuse_writes_if_transient(&tree, log.rewrite_last(&end.segment, end.offset))?
    {
        end.segment = segment;
        log.note_synced(end.applied);
        log.remove_spares();
    }
    set_segment_ages(&log, options.clock.now())?;
    let (applied, applied_at) = (end.applied, end.last_at);
    let bytes = options.log_segment_bytes;
    let active = Arc::clone(&end.segment);
    let is_kept =
        mode == OpenMode::ReadWrite && end.replayed.is_long(options) && checkpoint_replayed(&tree);
    let in_tree = if is_kept { applied } else { in_tree };
    let writer = LogWriter::new(Arc::clone(&log), end.segment, end.offset, applied.next(), bytes);
    let view = View { tree: tree.view()?, catalog, applied, applied_at };
    let files = Files::new(log, tree, writer.synced(), (active, applied), in_tree);
    Ok(OpenedFiles { files, view, writer })
}

/// Refuses writes and continues if the failure is transient: reading needs no space.
fn refuse_writes_if_transient<T>(tree: &Tree, done: Result<T, Error>) -> Result<Option<T>, Error> {
    match done {
        Err(Error::Io(failure)) if failure.may_pass() => {
            tree.file().refuse(&failure);
            Ok(None)
        }
        done => done.map(Some),
    }
}

/// Checkpoints what was replayed. Otherwise a process that is killed again and again before its
/// first checkpoint would replay more each time. The log is durable already. Returns false if the
/// tree could not be written: it can still be read, and writers get the error.
fn checkpoint_replayed(tree: &Tree) -> bool {
    tree.file().failure().is_none() && tree.checkpoint().is_ok() && tree.file().drain().is_ok()
}

/// Opens the tree; read-only if its file cannot be written.
pub(crate) fn open_tree(
    directory: &DataDirectory,
    store: u64,
    options: &Options,
) -> Result<(Tree, OpenMode), Error> {
    let path = directory.tree();
    let open = |mode| directory.disk.open(&path, mode);
    let opened = match options.read_only {
        true => {
            Err(std::io::Error::new(ErrorKind::ReadOnlyFilesystem, "the store is open read-only"))
        }
        false => open(OpenMode::ReadWrite),
    };
    let (file, mode, failure) = match opened {
        Ok(file) => {
            // What the tree contains decides which log segments can be removed, so it must be
            // durable.
            file.sync().map_err(io_error("syncing the tree", &path))?;
            (file, OpenMode::ReadWrite, None)
        }
        Err(cause)
            if matches!(
                cause.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            let file = open(OpenMode::Read).map_err(io_error("opening the tree", &path))?;
            let doing = "opening the tree for writing";
            (file, OpenMode::Read, Some(Arc::new(Failure { doing, path: path.clone(), cause })))
        }
        Err(cause) => return Err(io_error("opening the tree", &path)(cause)),
    };
    let file = tree_file(file, (&path, store), options, failure)?;
    Ok((Tree::open(file, options.cache_bytes())?, mode))
}

/// Opens a damaged tree to read what is left of it. Never writes to its file.
pub(crate) fn open_to_salvage(
    directory: &DataDirectory,
    store: u64,
    options: &Options,
) -> Result<Tree, Error> {
    let path = directory.tree();
    let file = directory.disk.open(&path, OpenMode::Read);
    let file = file.map_err(io_error("opening the tree", &path))?;
    let (doing, cause) = ("writing the tree", std::io::Error::other("the tree is being salvaged"));
    let failure = Arc::new(Failure { doing, path: path.clone(), cause });
    let file = tree_file(file, (&path, store), options, Some(failure))?;
    Tree::open_to_salvage(file, options.cache_bytes())
}

pub(crate) fn tree_file(
    file: Arc<dyn DiskFile>,
    (path, store): (&Path, u64),
    options: &Options,
    failure: Option<Arc<Failure>>,
) -> Result<TreeFile, Error> {
    let flush_by = match options.background {
        Background::Threads => FlushBy::Thread,
        Background::Manual => FlushBy::Caller,
    };
    TreeFile::new(file, (path, store), flush_by, options.unwritten_bytes(), failure)
}

/// Returns the catalog in the tree, the last commit in the tree, and when it happened.
pub(crate) fn load(tree: &Tree) -> Result<(Arc<Catalog>, CommitNo, Time), Error> {
    let view = tree.view()?;
    let malformed = |why: Malformed| damaged(tree.path(), 0, why.0);
    let (applied, at) = last_applied(&view)?;
    let next_id = match view.get(&SystemKey::NextId.row())? {
        Some(row) => NextId::decode(row.value()).map_err(malformed)?.0,
        None => 1,
    };
    let mut records = Vec::new();
    for entry in view.range(&SystemKey::tables())? {
        let (_, value) = entry?;
        records.push(TableRecord::decode(value.value()).map_err(malformed)?);
    }
    Ok((Arc::new(Catalog::new(next_id, records)), applied, at))
}

/// Returns the last commit in a tree, and when it happened.
pub(crate) fn last_applied(view: &TreeView) -> Result<(CommitNo, Time), Error> {
    let row = view.get(&SystemKey::Applied.row())?;
    let applied = row.map(|row| Applied::decode(row.value())).transpose();
    let applied = applied.map_err(|why| damaged(view.path(), 0, why.0))?;
    let Applied { commit, at } = applied.unwrap_or(Applied::NOTHING);
    Ok((commit, at))
}

/// Applies the commits of a log to a tree.
pub(crate) struct Replay<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) catalog: &'a mut Arc<Catalog>,
    pub(crate) applied: CommitNo,
    pub(crate) last_at: Time,
}

/// The end of a log.
pub(crate) struct LogEnd {
    pub(crate) segment: Arc<Segment>,
    pub(crate) offset: u64,
    pub(crate) applied: CommitNo,
    pub(crate) last_at: Time,
    replayed: Replayed,
}

/// The amount that was replayed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Replayed {
    rows: u64,
    log_bytes: u64,
}

impl Replayed {
    /// Whether it is as much as is written between two checkpoints.
    fn is_long(self, options: &Options) -> bool {
        self.rows >= options.checkpoint_rows() || self.log_bytes >= CHECKPOINT_LOG_BYTES
    }
}

impl Replay<'_> {
    /// Replays everything after `in_tree` and finds the end of the log. Calls `on_applied` every
    /// thousand commits with the last one and its time.
    pub(crate) fn run(
        mut self,
        log: &LogDirectory,
        in_tree: CommitNo,
        on_applied: &mut dyn FnMut(CommitNo, Time) -> Result<(), Error>,
    ) -> Result<LogEnd, Error> {
        let Some(mut walk) = LogWalk::from_commit(&log.segments(), in_tree.next())? else {
            let what =
                format!("commit {} is missing from the log: restore from a backup", in_tree.0 + 1);
            return Err(damaged(&log.path, 0, &what));
        };
        let mut pending: Vec<Commit> = Vec::new();
        let mut replayed = Replayed::default();
        while let Some(frame) = walk.next()? {
            replayed.log_bytes += frame.payload.len() as u64;
            self.collect(&frame, &mut pending)?;
            if pending.len() >= REPLAY_COMMITS {
                replayed.rows += self.apply(&mut pending)?;
                on_applied(self.applied, self.last_at)?;
            }
        }
        replayed.rows += self.apply(&mut pending)?;
        let end = walk.position();
        end.check_tail()?;
        if end.expected() <= in_tree {
            return Err(end.hole());
        }
        log.check_end(self.applied)?;
        Ok(LogEnd {
            segment: Arc::clone(end.segment()),
            offset: end.offset(),
            applied: self.applied,
            last_at: self.last_at,
            replayed,
        })
    }

    /// Replays everything after the last applied commit up to `last`, which is in the log. The log
    /// may be growing beyond it.
    pub(crate) fn run_until(&mut self, log: &LogDirectory, last: CommitNo) -> Result<(), Error> {
        let first = self.applied.next();
        if last < first {
            return Ok(());
        }
        let Some(mut walk) = LogWalk::from_commit(&log.segments(), first)? else {
            let what = format!("commit {} is missing from the log", first.0);
            return Err(damaged(&log.path, 0, &what));
        };
        let mut pending: Vec<Commit> = Vec::new();
        while walk.position().expected() <= last {
            let Some(frame) = walk.next()? else { return Err(walk.position().hole()) };
            self.collect(&frame, &mut pending)?;
            if pending.len() >= REPLAY_COMMITS {
                self.apply(&mut pending)?;
            }
        }
        self.apply(&mut pending).map(drop)
    }

    /// Adds a frame's commits to the pending ones, except those that the tree has.
    fn collect(&mut self, frame: &Scanned, pending: &mut Vec<Commit>) -> Result<(), Error> {
        let mut last_at = Time(0);
        for (number, commit) in frame.commits()? {
            last_at = commit.at;
            if number.0 == self.applied.0 + pending.len() as u64 + 1 {
                pending.push(commit);
            }
        }
        frame.segment.note_frame(frame.header.first, frame.offset, last_at);
        self.last_at = self.last_at.max(last_at);
        Ok(())
    }

    /// Applies commits that follow the last applied one. Returns how many rows were written.
    pub(crate) fn apply(&mut self, commits: &mut Vec<Commit>) -> Result<u64, Error> {
        if commits.is_empty() {
            return Ok(0);
        }
        let last = CommitNo(self.applied.0 + commits.len() as u64);
        let (catalog, last_at) = (&mut *self.catalog, self.last_at);
        let rows = self.tree.write(|rows| {
            let mut apply = Apply::new(rows, catalog, self.tree.path());
            for commit in commits.iter() {
                apply.commit(commit, &[])?;
            }
            apply.finish(last, last_at)
        })?;
        self.applied = last;
        commits.clear();
        Ok(rows)
    }
}

/// Sets the age of segments that were not read: as old as what follows them.
fn set_segment_ages(log: &LogDirectory, now: Time) -> Result<(), Error> {
    for pair in log.segments().windows(2) {
        let [segment, next] = pair else { continue };
        if segment.last_at() == Time(0) {
            let frame = FrameScan::new(next)?.next()?;
            let mut commits = frame.map(|frame| frame.commits()).transpose()?.into_iter().flatten();
            let at = commits.next().map_or(now, |(_, commit)| commit.at);
            segment.note_age(at);
        }
    }
    Ok(())
}
