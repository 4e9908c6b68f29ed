//! One file of the log.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::format::{CommitNo, SegmentHeader};
use crate::engine::{check_in_place, damaged, io_error};
use crate::{Disk, DiskFile, Error, OpenMode, Time};

/// Bytes between two marks: the most that a reader of the feed skips over.
const MARK_EVERY_BYTES: u64 = 64 * 1024;

/// One file of the log. Only the segment being written keeps a file handle open: there may be
/// hundreds of others.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) first: CommitNo,
    pub(crate) previous: CommitNo,
    pub(crate) path: PathBuf,
    pub(crate) store: u64,
    disk: Arc<dyn Disk>,
    handle: Mutex<Handle>,
    /// When its last known commit happened, in milliseconds.
    last_at: AtomicU64,
    /// Offsets of some of its frames, ascending.
    marks: Mutex<Vec<(CommitNo, u64)>>,
}

#[derive(Clone, Debug)]
enum Handle {
    Open(Arc<dyn DiskFile>),
    /// Its length; it is not written anymore.
    Closed(u64),
}

impl Segment {
    pub(crate) fn new(
        header: SegmentHeader,
        path: &Path,
        disk: &Arc<dyn Disk>,
        file: Arc<dyn DiskFile>,
    ) -> Segment {
        Segment {
            first: header.first,
            previous: header.previous,
            path: path.to_owned(),
            store: header.store,
            disk: Arc::clone(disk),
            handle: Mutex::new(Handle::Open(file)),
            last_at: AtomicU64::new(0),
            marks: Mutex::new(vec![(header.first, SegmentHeader::LEN as u64)]),
        }
    }

    /// Opens a segment and reads its header.
    pub(crate) fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        mode: OpenMode,
    ) -> Result<Segment, Error> {
        let file = disk.open(path, mode).map_err(io_error("opening a log segment", path))?;
        let len = file.len().map_err(io_error("measuring a log segment", path))?;
        if len < SegmentHeader::LEN as u64 {
            return Err(damaged(path, 0, "the segment is shorter than its header"));
        }
        let mut bytes = [0; SegmentHeader::LEN];
        file.read_at(0, &mut bytes).map_err(io_error("reading a log segment", path))?;
        let header = SegmentHeader::decode(&bytes).map_err(|why| damaged(path, 0, why.0))?;
        Ok(Segment::new(header, path, disk, file))
    }

    /// Fails if the header on disk is no longer what was written.
    pub(crate) fn verify_header(&self) -> Result<(), Error> {
        let mut bytes = [0; SegmentHeader::LEN];
        let read = self.file()?.read_at(0, &mut bytes);
        read.map_err(io_error("reading a log segment", &self.path))?;
        let known = SegmentHeader { store: self.store, previous: self.previous, first: self.first };
        match bytes[..] == known.encode()[..] {
            true => Ok(()),
            false => {
                Err(damaged(&self.path, 0, "the segment's header differs from what was written"))
            }
        }
    }

    /// Returns its open file, or opens it for the caller.
    pub(crate) fn file(&self) -> Result<Arc<dyn DiskFile>, Error> {
        match self.handle() {
            Handle::Open(file) => Ok(file),
            Handle::Closed(_) => {
                let file = self.disk.open(&self.path, OpenMode::Read);
                file.map_err(io_error("opening a log segment", &self.path))
            }
        }
    }

    /// Closes its file handle. It is not written anymore.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let len = self.len()?;
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = Handle::Closed(len);
        Ok(())
    }

    pub(crate) fn len(&self) -> Result<u64, Error> {
        match self.handle() {
            Handle::Open(file) => {
                file.len().map_err(io_error("measuring a log segment", &self.path))
            }
            Handle::Closed(len) => Ok(len),
        }
    }

    fn handle(&self) -> Handle {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes everything written durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.file()?.sync().map_err(io_error("syncing the log", &self.path))
    }

    /// Fails if the file is no longer at its path: the next process would not find what is written.
    pub(crate) fn check_in_place(&self) -> Result<(), Error> {
        check_in_place(&*self.file()?, &self.path)
    }

    /// Records where a frame is and when its last commit happened.
    pub(crate) fn note_frame(&self, first: CommitNo, offset: u64, last_at: Time) {
        self.note_age(last_at);
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if marks.last().is_none_or(|(_, last)| offset >= last + MARK_EVERY_BYTES) {
            marks.push((first, offset));
        }
    }

    /// Records that its last commit did not happen before this.
    pub(crate) fn note_age(&self, last_at: Time) {
        self.last_at.fetch_max(last_at.0, Ordering::Relaxed);
    }

    /// Returns the last marked frame that begins at or before a commit.
    pub(crate) fn mark_before(&self, commit: CommitNo) -> (CommitNo, u64) {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let after = marks.partition_point(|(first, _)| *first <= commit);
        marks[after.saturating_sub(1)]
    }

    pub(crate) fn last_at(&self) -> Time {
        Time(self.last_at.load(Ordering::Relaxed))
    }
}
