//! The segments of a log: which exist, and which to remove.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::format::{CommitNo, SegmentHeader};
use crate::engine::{damaged, io_error};
use crate::{Disk, DiskFile, Error, Failure, OpenMode, Time};

use super::end_mark::{END, EndMark};
use super::{FrameScan, Segment};

const SPARE: &str = "spare-";
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// Maximum size of a spare: a larger segment grows as it is written.
const ZEROS_MAX: u64 = 64 << 20;

/// The segments of a log, oldest first. The last one is being written.
#[derive(Debug)]
pub(crate) struct LogDirectory {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) path: PathBuf,
    pub(crate) store: u64,
    segments: Mutex<Vec<Arc<Segment>>>,
    end: EndMark,
    /// A zeroed file for the next segment. Overwriting zeros that are on disk already changes no
    /// file system metadata, which halves the cost of a sync.
    spare: Mutex<Option<Spare>>,
    /// How many spares were created. Each has a name of its own: the next one is created while the
    /// previous one is being renamed.
    spares: AtomicU64,
    spare_failed: AtomicBool,
    /// Serializes the removal of segments and the creation of spares.
    segment_files: Mutex<()>,
}

#[derive(Debug)]
struct Spare {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
}

/// How long the log is kept once the tree on disk has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    pub(crate) millis: u64,
    pub(crate) bytes: u64,
}

impl LogDirectory {
    /// Opens the segments in a directory, which may be none. They must be consecutive.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        path: PathBuf,
        store: u64,
        mode: OpenMode,
    ) -> Result<LogDirectory, Error> {
        let names = disk.list(&path).map_err(io_error("listing the log", &path))?;
        let end = EndMark::open(&*disk, &path, store, mode)?;
        let mut segments = Vec::new();
        let names: Vec<&String> = names.iter().filter(|name| is_segment(name)).collect();
        for (index, name) in names.iter().enumerate() {
            let file = path.join(name);
            match Segment::open(&disk, &file, mode) {
                Ok(segment) if segment.store == store => segments.push(Arc::new(segment)),
                Ok(_) => return Err(damaged(&file, 16, "the segment belongs to another store")),
                Err(Error::Damaged(_)) if index + 1 == names.len() && index > 0 => {
                    remove_unused(&disk, &file, store, mode)?;
                }
                // Trimmed since it was listed, by the store whose log is being restored from.
                Err(Error::Io(failure))
                    if failure.cause.kind() == ErrorKind::NotFound && segments.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        check_chain(&segments)?;
        for segment in segments.iter().rev().skip(1) {
            segment.close()?;
        }
        let segments = Mutex::new(segments);
        let (spare, spares) = (Mutex::new(None), AtomicU64::new(0));
        let (spare_failed, segment_files) = (AtomicBool::new(false), Mutex::new(()));
        Ok(LogDirectory {
            disk,
            path,
            store,
            segments,
            end,
            spare,
            spares,
            spare_failed,
            segment_files,
        })
    }

    /// Whether a log, if it exists, has only what creating a store writes: an empty segment of that
    /// store, and spares.
    pub(crate) fn is_unused(disk: &Arc<dyn Disk>, path: &Path, store: u64) -> Result<bool, Error> {
        let names = match disk.list(path) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(io_error("listing the log", path)(error)),
        };
        for name in names.iter().filter(|name| !is_spare(name) && *name != END) {
            if !is_segment(name) || !is_unused_segment(disk, &path.join(name), store)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the id of the store that a log belongs to, if its first segment is readable.
    pub(crate) fn store_of(disk: &Arc<dyn Disk>, path: &Path) -> Option<u64> {
        let names = disk.list(path).ok()?;
        let name = names.iter().find(|name| is_segment(name))?;
        Some(Segment::open(disk, &path.join(name), OpenMode::Read).ok()?.store)
    }

    /// Removes the spares that an earlier process left. They do no harm, so failures are ignored.
    pub(crate) fn remove_spares(&self) {
        let names = self.disk.list(&self.path).unwrap_or_default();
        for name in names.iter().filter(|name| is_spare(name)) {
            let _ = self.disk.remove(&self.path.join(name));
        }
    }

    /// Fails if a log that ends with this commit has lost acknowledged ones.
    pub(crate) fn check_end(&self, last: CommitNo) -> Result<(), Error> {
        self.end.check(last)
    }

    /// Records that everything up to this commit is synced, before it is acknowledged.
    pub(crate) fn note_synced(&self, synced: CommitNo) {
        self.end.note(synced);
    }

    /// Fails if the segment being written is no longer at its path.
    pub(crate) fn check_in_place(&self) -> Result<(), Error> {
        let last = self.lock().last().cloned();
        last.map_or(Ok(()), |last| last.check_in_place())
    }

    pub(crate) fn segments(&self) -> Vec<Arc<Segment>> {
        self.lock().clone()
    }

    /// Whether a segment has not been trimmed.
    pub(crate) fn has(&self, segment: &Segment) -> bool {
        self.lock().iter().any(|kept| kept.first == segment.first)
    }

    /// Returns the oldest commit in the log.
    pub(crate) fn oldest(&self) -> Option<CommitNo> {
        self.lock().first().map(|segment| segment.first)
    }

    /// Returns the size of all segments.
    pub(crate) fn bytes(&self) -> Result<u64, Error> {
        self.segments().iter().map(|segment| segment.len()).sum()
    }

    /// Creates a segment that begins with a commit and makes it the last one. It gets its name when
    /// its header is durable, so that a named segment is complete.
    pub(crate) fn add(&self, first: CommitNo) -> Result<Arc<Segment>, Error> {
        let path = self.path.join(format!("{:020}.log", first.0));
        let previous = self.lock().last().map_or(CommitNo::NONE, |segment| segment.first);
        let header = SegmentHeader { store: self.store, previous, first };
        let spare = self.lock_spare().take();
        let Spare { path: unnamed, file } = match spare {
            Some(spare) => spare,
            None => self.make_spare(0)?,
        };
        let fail = || io_error("creating a log segment", &path);
        file.write_at(0, &header.encode()).map_err(fail())?;
        file.sync().map_err(fail())?;
        self.disk.rename(&unnamed, &path).map_err(fail())?;
        self.sync_names()?;
        self.spare_failed.store(false, Ordering::Relaxed);
        let segment = Arc::new(Segment::new(header, &path, &self.disk, file));
        self.lock().push(Arc::clone(&segment));
        Ok(segment)
    }

    /// Rewrites the last segment up to its end into a new file, which then takes its name. What is
    /// readable after a crash was not necessarily synced: the process may have died before the
    /// sync, or a sync of the file or of its name may have failed, which a later sync does not
    /// repair. This also cuts off a torn tail. On a full disk, an existing spare is overwritten.
    pub(crate) fn rewrite_last(&self, old: &Segment, end: u64) -> Result<Arc<Segment>, Error> {
        let copied = self.make_spare(0).and_then(|spare| self.copy_start(old, end, spare));
        let Spare { path: unnamed, file } = match copied {
            Err(Error::Io(full)) if is_full(&full) => {
                let spare = self.find_spare(end).ok_or(Error::Io(full))?;
                self.copy_start(old, end, spare)?
            }
            copied => copied?,
        };
        let renamed = self.disk.rename(&unnamed, &old.path);
        renamed.map_err(io_error("rewriting the end of the log", &old.path))?;
        self.sync_names()?;
        let header = SegmentHeader { store: old.store, previous: old.previous, first: old.first };
        let segment = Arc::new(Segment::new(header, &old.path, &self.disk, file));
        segment.note_age(old.last_at());
        if let Some(last) = self.lock().last_mut() {
            *last = Arc::clone(&segment);
        }
        Ok(segment)
    }

    /// Copies the start of a segment into a spare, and zeros the rest.
    fn copy_start(&self, old: &Segment, end: u64, spare: Spare) -> Result<Spare, Error> {
        let from = old.file()?;
        let copy = || {
            let mut buffer = vec![0; ZEROS.len()];
            for offset in (0..end).step_by(buffer.len()) {
                let len = buffer.len().min((end - offset) as usize);
                from.read_at(offset, &mut buffer[..len])?;
                spare.file.write_at(offset, &buffer[..len])?;
            }
            write_zeros(&*spare.file, end..spare.file.len()?)?;
            spare.file.sync()
        };
        if let Err(cause) = copy() {
            // Its space may be needed.
            let _ = self.disk.remove(&spare.path);
            return Err(io_error("rewriting the end of the log", &old.path)(cause));
        }
        Ok(spare)
    }

    /// Finds a spare left by an earlier process that has room for this many bytes.
    fn find_spare(&self, bytes: u64) -> Option<Spare> {
        let names = self.disk.list(&self.path).ok()?;
        let spares = names.iter().filter(|name| is_spare(name)).map(|name| self.path.join(name));
        let mut with_room = spares.filter_map(|path| {
            let file = self.disk.open(&path, OpenMode::ReadWrite).ok()?;
            (file.len().ok()? >= bytes).then_some(Spare { path, file })
        });
        with_room.next()
    }

    /// Fails if no file can be created or this many bytes cannot be written.
    pub(crate) fn probe(&self, bytes: u64) -> Result<(), Error> {
        let _segment_files = self.segment_files.lock().unwrap_or_else(PoisonError::into_inner);
        let Spare { path, file } = self.make_spare(bytes)?;
        drop(file);
        self.disk.remove(&path).map_err(io_error("removing a spare log segment", &path))
    }

    /// Creates the spare for the next segment, if there is none. After a failure it is not retried
    /// before the next segment: a spare is an optimization, and must not use up a disk that is
    /// nearly full.
    pub(crate) fn prepare_spare(&self, bytes: u64) {
        let _segment_files = self.segment_files.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lock_spare().is_some() || self.spare_failed.load(Ordering::Relaxed) {
            return;
        }
        match self.make_spare(bytes.min(ZEROS_MAX)) {
            Ok(spare) => *self.lock_spare() = Some(spare),
            Err(_) => self.spare_failed.store(true, Ordering::Relaxed),
        }
    }

    fn make_spare(&self, bytes: u64) -> Result<Spare, Error> {
        let number = self.spares.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("{SPARE}{number}"));
        // A crash may have left one; if removing it fails, creating fails and reports why.
        let _ = self.disk.remove(&path);
        let made = self.disk.open(&path, OpenMode::Create);
        let file = made.map_err(io_error("creating a log segment", &path))?;
        let zeroed = write_zeros(&*file, 0..bytes).and_then(|()| file.sync());
        if let Err(cause) = zeroed {
            let _ = self.disk.remove(&path);
            return Err(io_error("preparing a log segment", &path)(cause));
        }
        Ok(Spare { path, file })
    }

    /// Removes the oldest segments that the tree on disk has completely and that need not be kept.
    /// Returns how many were removed.
    pub(crate) fn trim(&self, in_tree: CommitNo, keep: Retention, now: Time) -> Result<u64, Error> {
        let _segment_files = self.segment_files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut removed = 0;
        loop {
            let segments = self.segments();
            let [oldest, next, ..] = segments.as_slice() else { break };
            let too_old = oldest.last_at().0.saturating_add(keep.millis) < now.0;
            let unneeded = next.first.0 <= in_tree.0 + 1;
            if !unneeded || !(too_old || self.bytes()? > keep.bytes) {
                break;
            }
            let path = &oldest.path;
            self.disk.remove(path).map_err(io_error("removing a log segment", path))?;
            self.lock().remove(0);
            // One by one, so that a crash cannot bring an older one back without its successor.
            self.sync_names()?;
            removed += 1;
        }
        Ok(removed)
    }

    fn sync_names(&self) -> Result<(), Error> {
        let synced = self.disk.sync_directory(&self.path);
        synced.map_err(io_error("syncing the log's directory", &self.path))
    }

    fn lock_spare(&self) -> MutexGuard<'_, Option<Spare>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Segment>>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_full(failure: &Failure) -> bool {
    matches!(failure.cause.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn write_zeros(file: &dyn DiskFile, range: Range<u64>) -> std::io::Result<()> {
    for offset in range.clone().step_by(ZEROS.len()) {
        let len = ZEROS.len().min((range.end - offset) as usize);
        file.write_at(offset, &ZEROS[..len])?;
    }
    Ok(())
}

/// Matches `00000000000000000001.log`; anything else in the log's directory is not a segment.
fn is_segment(name: &str) -> bool {
    let number = name.strip_suffix(".log").unwrap_or_default();
    number.len() == 20 && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_spare(name: &str) -> bool {
    let number = name.strip_prefix(SPARE).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_unused_segment(disk: &Arc<dyn Disk>, path: &Path, store: u64) -> Result<bool, Error> {
    let segment = match Segment::open(disk, path, OpenMode::Read) {
        Ok(segment) if segment.store == store => Arc::new(segment),
        Ok(_) | Err(Error::Damaged(_)) => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut scan = FrameScan::new(&segment)?;
    Ok(scan.next()?.is_none() && scan.check_tail().is_ok())
}

/// Checks that each segment names the one before it.
fn check_chain(segments: &[Arc<Segment>]) -> Result<(), Error> {
    for pair in segments.windows(2) {
        if let [segment, next] = pair
            && next.previous != segment.first
        {
            let what = "the previous segment is missing: restore from a backup";
            return Err(damaged(&next.path, 0, what));
        }
    }
    Ok(())
}

/// Removes a last segment whose header is blank: a crash left it while it was being created, unless
/// frames were ever written to it. It is removed because its number may be used again. Anything
/// else is damage or not ours, and stays.
fn remove_unused(
    disk: &Arc<dyn Disk>,
    path: &Path,
    store: u64,
    mode: OpenMode,
) -> Result<(), Error> {
    let file = disk.open(path, OpenMode::Read).map_err(io_error("opening a log segment", path))?;
    let header = SegmentHeader { store, previous: CommitNo::NONE, first: CommitNo::NONE };
    let segment = Arc::new(Segment::new(header, path, disk, Arc::clone(&file)));
    let mut start = vec![0; SegmentHeader::LEN.min(usize::try_from(segment.len()?).unwrap_or(0))];
    file.read_at(0, &mut start).map_err(io_error("reading a log segment", path))?;
    if start.iter().any(|byte| *byte != 0) {
        return Err(damaged(path, 0, "the log segment has no valid header"));
    }
    FrameScan::new(&segment)?.check_tail()?;
    match mode {
        OpenMode::Read => Ok(()),
        OpenMode::ReadWrite | OpenMode::Create => {
            disk.remove(path).map_err(io_error("removing an unused log segment", path))
        }
    }
}
