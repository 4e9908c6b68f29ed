//! Opening a data directory: lock it, check it, and replay the log into the tree.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::{DirectoryError, DiskFile, Error, Failure, OpenMode};

use super::directory::{Contents, DataDirectory, StoreIds, new_store_id};
use super::files::Files;
use super::format::{CommitNo, History, Identity};
use super::io_error;
use super::log::{LogDirectory, LogWriter};
use super::options::{Background, Options};
use super::replay::{Replay, load, set_segment_ages};
use super::shared::Shared;
use super::tree::Tree;
use super::tree_file::{FlushBy, TreeFile};
use super::view::View;

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
