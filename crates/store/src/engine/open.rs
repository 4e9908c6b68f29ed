//! Opening a data directory: lock it, check it, bring the tree up to the end of the log.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::{DirectoryError, DiskFile, Error, Failure, OpenMode, Time};

use super::apply::Apply;
use super::catalog::Catalog;
use super::directory::{Contents, DataDirectory, new_store};
use super::files::Files;
use super::format::{
    Applied, Commit, CommitNo, History, Identity, Malformed, NextNumber, SystemKey, TableRecord,
};
use super::log::{FrameScan, LogDirectory, LogWalk, LogWriter, Scanned, Segment};
use super::options::{Background, CHECKPOINT_LOG_BYTES, Options};
use super::shared::Shared;
use super::tree::{Tree, TreeView};
use super::tree_file::{FlushBy, TreeFile};
use super::view::View;
use super::{damaged, io_error};

/// Commits brought into the tree at once while replaying.
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
        Contents::Nothing | Contents::Unfinished => {
            let store = new_store(path, options.clock.now());
            let identity = Identity { store, history: History::Number(store) };
            directory.create(contents, identity, |_| Ok(CommitNo::NONE))?;
            store
        }
    };
    let history = match directory.history()? {
        History::Number(number) => number,
        History::Ended => new_store(path, options.clock.now()),
    };
    let names = StoreNames { store, history };
    let OpenedFiles { files, view, writer } = open_files(&directory, names, &options)?;
    Ok((Shared::new(options, path.to_owned(), (names, lock), files, view), writer))
}

/// The numbers that tell a store from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreNames {
    /// What its files are marked with.
    pub(crate) store: u64,
    /// What its commits are told from those of a copy by.
    pub(crate) history: u64,
}

/// What opening the files of a store gives.
pub(crate) struct OpenedFiles {
    pub(crate) files: Files,
    pub(crate) view: View,
    pub(crate) writer: LogWriter,
}

/// Opens the files of a store, whose directory is locked. If nothing can be written now, they can
/// be read: what the tree lacks is replayed in memory.
pub(crate) fn open_files(
    directory: &DataDirectory,
    StoreNames { store, history }: StoreNames,
    options: &Options,
) -> Result<OpenedFiles, Error> {
    let (tree, mode) = open_tree(directory, store, options)?;
    if mode == OpenMode::ReadWrite {
        directory.settle_names()?;
        refuse_while(&tree, directory.begin_history(history))?;
    }
    let log = LogDirectory::open(Arc::clone(&options.disk), directory.log(), store, mode)?;
    let log = Arc::new(log);
    let (mut catalog, in_tree, last_at) = load(&tree)?;
    let replay = Replay { tree: &tree, catalog: &mut catalog, applied: in_tree, last_at };
    let mut end = replay.run(&log, in_tree, &mut |_, _| Ok(()))?;
    if mode == OpenMode::ReadWrite
        && let Some(segment) = refuse_while(&tree, log.rewrite_last(&end.segment, end.offset))?
    {
        end.segment = segment;
        log.note_synced(end.applied);
        log.remove_spares();
    }
    date_segments(&log, options.clock.now())?;
    let (applied, applied_at) = (end.applied, end.last_at);
    let bytes = options.log_segment_bytes;
    let active = Arc::clone(&end.segment);
    let is_kept =
        mode == OpenMode::ReadWrite && end.replayed.is_long(options) && keep_replayed(&tree);
    let in_tree = if is_kept { applied } else { in_tree };
    let writer = LogWriter::new(Arc::clone(&log), end.segment, end.offset, applied.next(), bytes);
    let view = View { tree: tree.view()?, catalog, applied, applied_at };
    let files = Files::new(log, tree, writer.synced(), (active, applied), in_tree);
    Ok(OpenedFiles { files, view, writer })
}

/// Refuses writes, and goes on, if something failed that may pass: reading needs no space.
fn refuse_while<T>(tree: &Tree, done: Result<T, Error>) -> Result<Option<T>, Error> {
    match done {
        Err(Error::Io(failure)) if failure.may_pass() => {
            tree.file().refuse(&failure);
            Ok(None)
        }
        done => done.map(Some),
    }
}

/// Brings what was replayed to the disk. A process that is killed before its first checkpoint, again
/// and again, would otherwise replay more each time. The log is safe already. False if it could not be
/// written: it can still be read, and whoever writes is told.
fn keep_replayed(tree: &Tree) -> bool {
    tree.file().failure().is_none() && tree.checkpoint().is_ok() && tree.file().drain().is_ok()
}

/// Opens the tree, for reading only if its file cannot be written.
pub(crate) fn open_tree(
    directory: &DataDirectory,
    store: u64,
    options: &Options,
) -> Result<(Tree, OpenMode), Error> {
    let path = directory.tree();
    let open = |mode| directory.disk.open(&path, mode);
    let opened = match options.read_only {
        true => {
            Err(std::io::Error::new(ErrorKind::ReadOnlyFilesystem, "it is open for reading only"))
        }
        false => open(OpenMode::ReadWrite),
    };
    let (file, mode, failure) = match opened {
        Ok(file) => {
            // What the tree says it has decides what of the log may go: it must be safe.
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

/// Opens a damaged tree to read what is left of it. Nothing is ever written to its file.
pub(crate) fn open_to_salvage(
    directory: &DataDirectory,
    store: u64,
    options: &Options,
) -> Result<Tree, Error> {
    let path = directory.tree();
    let file = directory.disk.open(&path, OpenMode::Read);
    let file = file.map_err(io_error("opening the tree", &path))?;
    let (doing, cause) = ("writing the tree", std::io::Error::other("it is being salvaged"));
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

/// The catalog in the tree, the last commit that the tree has, and when it happened.
pub(crate) fn load(tree: &Tree) -> Result<(Arc<Catalog>, CommitNo, Time), Error> {
    let view = tree.view()?;
    let malformed = |why: Malformed| damaged(tree.path(), 0, why.0);
    let (applied, at) = last_applied(&view)?;
    let next_id = match view.get(&SystemKey::NextId.row())? {
        Some(row) => NextNumber::decode(row.value()).map_err(malformed)?.0,
        None => 1,
    };
    let mut records = Vec::new();
    for entry in view.range(&SystemKey::tables())? {
        let (_, value) = entry?;
        records.push(TableRecord::decode(value.value()).map_err(malformed)?);
    }
    Ok((Arc::new(Catalog::new(next_id, records)), applied, at))
}

/// The last commit that a tree has, and when it happened.
pub(crate) fn last_applied(view: &TreeView) -> Result<(CommitNo, Time), Error> {
    let row = view.get(&SystemKey::Applied.row())?;
    let applied = row.map(|row| Applied::decode(row.value())).transpose();
    let applied = applied.map_err(|why| damaged(view.path(), 0, why.0))?;
    let Applied { commit, at } = applied.unwrap_or(Applied::NOTHING);
    Ok((commit, at))
}

/// Brings the commits of a log into a tree.
pub(crate) struct Replay<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) catalog: &'a mut Arc<Catalog>,
    pub(crate) applied: CommitNo,
    pub(crate) last_at: Time,
}

/// Where a log ends.
pub(crate) struct LogEnd {
    pub(crate) segment: Arc<Segment>,
    pub(crate) offset: u64,
    pub(crate) applied: CommitNo,
    pub(crate) last_at: Time,
    replayed: Replayed,
}

/// How much was replayed.
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
            let what = format!("the log lacks commit {}: restore from a backup", in_tree.0 + 1);
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

    /// Replays everything after the last one applied up to a commit that is in the log, which may be
    /// being written behind it.
    pub(crate) fn run_until(&mut self, log: &LogDirectory, last: CommitNo) -> Result<(), Error> {
        let first = self.applied.next();
        if last < first {
            return Ok(());
        }
        let Some(mut walk) = LogWalk::from_commit(&log.segments(), first)? else {
            let what = format!("the log lacks commit {}", first.0);
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

    /// Adds a frame's commits to those that wait, without those that the tree has.
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

    /// Brings commits that follow the last one applied into the tree. Returns how many rows were
    /// written.
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

/// Tells segments that were not read how old they are: as old as what follows them.
fn date_segments(log: &LogDirectory, now: Time) -> Result<(), Error> {
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
