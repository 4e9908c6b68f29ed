//! Incremental backups: the part of the log that came after an earlier backup.
//!
//! ```text
//! log/        one segment with the frames since, as the store wrote them
//! increment   text, written last: the store, after which commit it begins, and its last commit
//! ```
//!
//! It is not a store: it is replayed after the backup that it follows, just as the store's own log
//! can be.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::{DirectoryError, Disk, Error, OpenMode};

use super::backup::{CopyProgress, OnProgress, OpenBackup};
use super::directory::{Contents, DataDirectory};
use super::format::{CommitNo, FrameHeader, Increment, SegmentHeader};
use super::log::{LogDirectory, LogWalk, Segment};
use super::rebuild::check_continues;
use super::shared::Shared;
use super::{check_continue, damaged, io_error};

pub(crate) const INCREMENT: &str = "increment";

/// Reads the description of an incremental backup; `None` if the directory is something else.
pub(crate) fn read_increment(directory: &DataDirectory) -> Result<Option<Increment>, Error> {
    let path = directory.path.join(INCREMENT);
    match directory.disk.open(&path, OpenMode::Read) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("opening an incremental backup", &path)(error)),
        Ok(_) => {
            let increment = Increment::decode(&directory.text(INCREMENT)?);
            let unknown =
                "the description of the incremental backup is malformed or from another version";
            increment.map(Some).ok_or_else(|| damaged(&path, 0, unknown))
        }
    }
}

/// Copies what a store has written since an earlier backup, full or incremental, into an empty
/// directory.
pub(crate) fn increment(
    shared: &Shared,
    since: &Path,
    target: &Path,
    on_progress: OnProgress<'_>,
) -> Result<CopyProgress, Error> {
    let disk = &shared.options.disk;
    let files = shared.files();
    let after = last_of(disk, since, &files.log)?;
    let view = shared.view();
    let mut progress = CopyProgress { rows: 0, commit: view.applied.0, at: view.applied_at };
    drop(view);
    // A backup must not have what a crash could still take from the log.
    shared.sync_log().map_err(|error| shared.fail(error))?;
    let gone = "the log no longer has all changes since it was made; make a full backup";
    let segments = pinned(&files.log, after)?.ok_or_else(|| wrong_backup(since, gone))?;
    let target = DataDirectory::new(Arc::clone(disk), target);
    let (_lock, contents) = target.lock()?;
    if contents != Contents::Empty {
        let (directory, found) = (target.path, "a data directory".to_owned());
        return Err(DirectoryError::Foreign { directory, found }.into());
    }
    let last = CommitNo(progress.commit);
    let frame = frame_of(&files.log, last)?;
    let increment = Increment { store: shared.ids.store, after, last, frame };
    let written = write(&target, increment, &segments, &mut progress, on_progress);
    written.inspect_err(|_| clear(&target))?;
    Ok(progress)
}

/// Returns the last commit of a backup whose history the log must continue: a store that was
/// copied, put back and written to has other commits with the same numbers.
fn last_of(disk: &Arc<dyn Disk>, path: &Path, log: &LogDirectory) -> Result<CommitNo, Error> {
    let directory = DataDirectory::new(Arc::clone(disk), path);
    let Some(increment) = read_increment(&directory)? else {
        let backup = OpenBackup::open(disk, path)?;
        backup.check_untouched()?;
        check_continues(&backup, log)?;
        return Ok(backup.commit);
    };
    let Increment { store, last, frame, .. } = increment;
    if store != log.store {
        return Err(wrong_backup(path, "it is a backup of another store"));
    }
    // What the log no longer has cannot be compared.
    let is_gone = log.oldest().is_some_and(|oldest| oldest > last);
    let is_same = frame.is_none() || is_gone || frame_of(log, last)? == frame;
    match is_same {
        true => Ok(last),
        false => Err(wrong_backup(path, "its last commit differs from the one in the log")),
    }
}

/// Returns the checksum of the log frame that holds a commit; `None` if there is no such commit.
fn frame_of(log: &LogDirectory, commit: CommitNo) -> Result<Option<u64>, Error> {
    let Some(mut walk) = LogWalk::from_commit(&log.segments(), commit)? else { return Ok(None) };
    while walk.position().expected() <= commit
        && let Some(frame) = walk.next()?
    {
        if frame.header.last() >= commit {
            return Ok(Some(frame.header.checksum));
        }
    }
    Ok(None)
}

fn wrong_backup(backup: &Path, why: &str) -> Error {
    Error::WrongBackup { backup: backup.to_owned(), why: why.to_owned() }
}

/// Returns the segments with everything after a commit, opened so that trimming does not affect
/// them; `None` if it was trimmed already.
fn pinned(log: &LogDirectory, after: CommitNo) -> Result<Option<Vec<Arc<Segment>>>, Error> {
    let segments = log.segments();
    let first = segments.iter().rposition(|segment| segment.first <= after.next());
    let Some(first) = first else { return Ok(None) };
    let mut pinned = vec![];
    for segment in &segments[first..] {
        match Segment::open(&log.disk, &segment.path, OpenMode::Read) {
            Ok(segment) => pinned.push(Arc::new(segment)),
            Err(Error::Io(failure)) if failure.cause.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Some(pinned))
}

fn write(
    target: &DataDirectory,
    increment: Increment,
    segments: &[Arc<Segment>],
    progress: &mut CopyProgress,
    on_progress: OnProgress<'_>,
) -> Result<(), Error> {
    let path = target.log();
    target.disk.create_directory(&path).map_err(io_error("creating the log", &path))?;
    let log =
        LogDirectory::open(Arc::clone(&target.disk), path, increment.store, OpenMode::ReadWrite)?;
    let mut walk = LogWalk::from_commit(segments, increment.after.next())?;
    let mut to: Option<(Arc<Segment>, u64)> = None;
    while let Some(walk) = &mut walk
        && walk.position().expected() <= increment.last
    {
        let frame = walk.next()?.ok_or_else(|| walk.position().hole())?;
        if frame.header.last() <= increment.after {
            continue;
        }
        let (segment, offset) = match &to {
            Some((segment, offset)) => (Arc::clone(segment), *offset),
            None => (log.add(frame.header.first)?, SegmentHeader::LEN as u64),
        };
        // Byte for byte as it was written, including checksums.
        let mut bytes = vec![0; FrameHeader::LEN + frame.payload.len()];
        let (from, into) = (frame.segment.file()?, segment.file()?);
        let read = from.read_at(frame.offset, &mut bytes);
        read.map_err(io_error("reading the log", &frame.segment.path))?;
        into.write_at(offset, &bytes).map_err(io_error("copying the log", &segment.path))?;
        to = Some((segment, offset + bytes.len() as u64));
        progress.rows +=
            frame.commits()?.map(|(_, commit)| commit.effects.len() as u64).sum::<u64>();
        check_continue(on_progress(*progress))?;
    }
    if let Some((segment, _)) = &to {
        segment.sync()?;
    }
    log.note_synced(increment.last);
    log.remove_spares();
    target.write_text(INCREMENT, &increment.encode())
}

/// Removes what was copied. Failures are ignored: the rest does no harm.
fn clear(target: &DataDirectory) {
    let log = target.log();
    for name in target.disk.list(&log).unwrap_or_default() {
        let _ = target.disk.remove(&log.join(name));
    }
    let _ = target.disk.remove(&target.path.join(INCREMENT));
}
