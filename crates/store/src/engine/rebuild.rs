//! Rebuilding a damaged tree: from the log alone if that reaches back to the first commit,
//! otherwise from a backup and the log. The damaged tree is not read; it stays in place until the
//! new one is complete and replaces it.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::{DirectoryError, Disk, Error, Failure, OpenMode};

use super::backup::{CopyProgress, OnProgress, OpenBackup, copy_counted};
use super::check_continue;
use super::directory::{Contents, DataDirectory};
use super::format::CommitNo;
use super::log::{LogDirectory, LogWalk};
use super::options::Options;
use super::replay::{LogEnd, Replay, load};
use super::tree::Tree;

/// Rebuilds the tree of a data directory that no process has open.
pub(crate) fn rebuild(
    path: &Path,
    backup: Option<&Path>,
    options: &Options,
    on_progress: OnProgress<'_>,
) -> Result<CopyProgress, Error> {
    let directory = DataDirectory::new(Arc::clone(&options.disk), path);
    let Contents::Store(store) = directory.contents()? else {
        return Err(DirectoryError::NoStore { directory: path.to_owned() }.into());
    };
    let (_lock, _) = directory.lock()?;
    let disk = &directory.disk;
    let log = LogDirectory::open(Arc::clone(disk), directory.log(), store, OpenMode::ReadWrite)?;
    let sources = Sources::find(disk, &log, backup)?;
    let mut rebuild = |source| {
        directory.replace_tree(store, |tree| {
            let mut progress = CopyProgress::default();
            let end = sources.fill(source, tree, &mut progress, on_progress)?;
            // The tree must not have what a crash could still take from the log.
            log.rewrite_last(&end.segment, end.offset)?;
            log.note_synced(end.applied);
            Ok(progress)
        })
    };
    let rebuilt = match rebuild(sources.first()) {
        // A backup can make up for damage in older parts of the log.
        Err(Error::Damaged(_)) if sources.first() == Source::Log && sources.backup.is_some() => {
            rebuild(Source::Backup)
        }
        rebuilt => rebuilt,
    };
    rebuilt.map_err(|error| explain_full_disk(error, &directory))
}

/// The source of a rebuilt tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The log alone, which has every commit.
    Log,
    /// A backup, and the commits of the log since.
    Backup,
}

/// What a tree can be rebuilt from.
pub(crate) struct Sources<'a> {
    log: &'a LogDirectory,
    is_log_whole: bool,
    backup: Option<OpenBackup>,
}

impl<'a> Sources<'a> {
    /// Finds the sources; fails if there are none. A backup that does not belong to the log is
    /// always refused.
    pub(crate) fn find(
        disk: &Arc<dyn Disk>,
        log: &'a LogDirectory,
        backup: Option<&Path>,
    ) -> Result<Sources<'a>, Error> {
        let backup = backup.map(|path| OpenBackup::open(disk, path)).transpose()?;
        if let Some(backup) = &backup {
            backup.check_untouched()?;
            check_continues(backup, log)?;
        }
        let oldest = log.oldest().unwrap_or(CommitNo::NONE.next());
        let is_log_whole = oldest == CommitNo::NONE.next();
        if !is_log_whole && backup.is_none() {
            return Err(Error::BackupNeeded { oldest: oldest.0, since: first_time(log)? });
        }
        Ok(Sources { log, is_log_whole, backup })
    }

    /// Returns the preferred source: the log by itself, if it has every commit.
    pub(crate) fn first(&self) -> Source {
        if self.is_log_whole { Source::Log } else { Source::Backup }
    }

    /// Copies the backup, if that is the source, into an empty tree.
    pub(crate) fn copy(
        &self,
        source: Source,
        tree: &Tree,
        progress: &mut CopyProgress,
        on_progress: OnProgress<'_>,
    ) -> Result<(), Error> {
        match (source, &self.backup) {
            (Source::Backup, Some(backup)) => {
                (progress.commit, progress.at) = (backup.commit.0, backup.at);
                copy_counted(&backup.rows, tree, progress, on_progress)
            }
            (Source::Backup, None) | (Source::Log, _) => Ok(()),
        }
    }

    /// Fills an empty tree with everything up to the end of the log.
    fn fill(
        &self,
        source: Source,
        tree: &Tree,
        progress: &mut CopyProgress,
        on_progress: OnProgress<'_>,
    ) -> Result<LogEnd, Error> {
        self.copy(source, tree, progress, on_progress)?;
        let (mut catalog, applied, last_at) = load(tree)?;
        let replay = Replay { tree, catalog: &mut catalog, applied, last_at };
        let end = replay.run(self.log, applied, &mut |applied, at| {
            *progress = CopyProgress { commit: applied.0, at, ..*progress };
            check_continue(on_progress(*progress))?;
            tree.check_written()
        })?;
        (progress.commit, progress.at) = (end.applied.0, end.last_at);
        Ok(end)
    }
}

/// Fails if the log does not continue the history of the backup.
pub(crate) fn check_continues(backup: &OpenBackup, log: &LogDirectory) -> Result<(), Error> {
    let wrong =
        |why: String| Err(Error::WrongBackup { backup: backup.directory.path.clone(), why });
    if backup.store != log.store {
        return wrong("it is a backup of another store".to_owned());
    }
    let oldest = log.oldest().unwrap_or(CommitNo::NONE.next());
    if oldest > backup.commit.next() {
        return wrong(format!(
            "it ends with commit {}, and the log begins with commit {}; use a later backup",
            backup.commit.0, oldest.0
        ));
    }
    if oldest > backup.commit {
        return Ok(());
    }
    // The log still has the backup's last commit. A store that was copied and then written to has a
    // different commit with that number.
    let Some(mut walk) = LogWalk::from_commit(&log.segments(), backup.commit)? else {
        return Ok(());
    };
    while let Some(frame) = walk.next()? {
        for (number, commit) in frame.commits()? {
            if number == backup.commit {
                return match commit.at == backup.at && backup.has_last(&commit)? {
                    true => Ok(()),
                    false => {
                        wrong(format!("its commit {} differs from the one in the log", number.0))
                    }
                };
            }
        }
    }
    wrong(format!("it ends with commit {}, which the log lacks", backup.commit.0))
}

/// Returns the time of the first commit in a log.
fn first_time(log: &LogDirectory) -> Result<crate::Time, Error> {
    let Some(oldest) = log.oldest() else { return Ok(crate::Time(0)) };
    let Some(mut walk) = LogWalk::from_commit(&log.segments(), oldest)? else {
        return Ok(crate::Time(0));
    };
    let frame = walk.next()?;
    let first = frame.map(|frame| frame.commits()).transpose()?.into_iter().flatten().next();
    Ok(first.map_or(crate::Time(0), |(_, commit)| commit.at))
}

/// Adds how much space is needed to the error of a full disk.
pub(crate) fn explain_full_disk(error: Error, directory: &DataDirectory) -> Error {
    let (Error::Io(failure) | Error::WritesRefused(failure)) = &error else { return error };
    let kind = failure.cause.kind();
    if !matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        return error;
    }
    let path = directory.tree();
    let len = directory.disk.open(&path, OpenMode::Read).and_then(|file| file.len());
    let bytes = len.unwrap_or(0);
    let why = format!(
        "the disk is full: the new tree needs about as much free space as the old one occupies, \
         {bytes} bytes; nothing was changed"
    );
    let cause = std::io::Error::new(kind, why);
    Error::Io(Arc::new(Failure { doing: "rebuilding the tree", path, cause }))
}
