//! Appending to the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::format::{CommitNo, Frame};
use crate::engine::io_error;
use crate::{Error, Time};

use super::{LogDirectory, Segment};

/// Appends frames. A store has exactly one.
#[derive(Debug)]
pub(crate) struct LogWriter {
    directory: Arc<LogDirectory>,
    active: Arc<Segment>,
    offset: u64,
    segment_bytes: u64,
    next: CommitNo,
    /// The buffer of the last frame, for reuse.
    buffer: Vec<u8>,
    /// The last durable commit. Shared with background syncs.
    synced: Arc<AtomicU64>,
}

impl LogWriter {
    /// Continues where the log ends: at `offset` of the last segment.
    pub(crate) fn new(
        directory: Arc<LogDirectory>,
        active: Arc<Segment>,
        offset: u64,
        next: CommitNo,
        segment_bytes: u64,
    ) -> LogWriter {
        let synced = Arc::new(AtomicU64::new(next.0 - 1));
        LogWriter { directory, active, offset, segment_bytes, next, buffer: vec![], synced }
    }

    /// Returns the number of the next commit.
    pub(crate) fn next(&self) -> CommitNo {
        self.next
    }

    /// Returns the last durable commit.
    pub(crate) fn synced(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.synced)
    }

    /// Whether a commit is durable.
    pub(crate) fn is_synced(&self, commit: CommitNo) -> bool {
        self.synced.load(Ordering::Acquire) >= commit.0
    }

    /// Returns the segment that a background sync has to sync, and the commit that is durable after
    /// it.
    pub(crate) fn active(&self) -> (Arc<Segment>, CommitNo) {
        (Arc::clone(&self.active), CommitNo(self.next.0 - 1))
    }

    /// Starts a frame for the next commits.
    pub(crate) fn frame(&mut self) -> Frame {
        Frame::new(self.next, std::mem::take(&mut self.buffer))
    }

    /// Writes a frame whose last commit is `last`. It is not durable yet.
    pub(crate) fn append(&mut self, frame: Frame, last: CommitNo, at: Time) -> Result<u64, Error> {
        // A reader expects the next frame to begin after the last commit of this one
        // (`FrameScan::next`).
        debug_assert_eq!(
            frame.commits_to(last),
            Some(self.next),
            "commits are numbered without gaps"
        );
        let synced = CommitNo(self.synced.load(Ordering::Acquire));
        let bytes = frame.seal(synced, self.directory.store);
        let bytes = bytes.ok_or_else(|| {
            let too_large = std::io::Error::from(std::io::ErrorKind::FileTooLarge);
            io_error("writing the log", &self.active.path)(too_large)
        })?;
        if self.offset + bytes.len() as u64 > self.segment_bytes {
            self.rotate()?;
        }
        let written = self.active.file()?.write_at(self.offset, &bytes);
        written.map_err(io_error("writing the log", &self.active.path))?;
        self.active.note_frame(self.next, self.offset, at);
        self.offset += bytes.len() as u64;
        self.next = last.next();
        let written = bytes.len() as u64;
        self.buffer = bytes;
        Ok(written)
    }

    /// Makes everything written durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        let last = self.next.0 - 1;
        if self.synced.load(Ordering::Acquire) < last {
            self.active.sync()?;
            self.synced.fetch_max(last, Ordering::AcqRel);
            self.directory.note_synced(CommitNo(last));
        }
        Ok(())
    }

    /// Ends the active segment and begins the next. Only the last segment of a log can have a torn
    /// tail, so the old one is synced before the new one exists.
    fn rotate(&mut self) -> Result<(), Error> {
        self.sync()?;
        // The next segment is created by its path, which must still be in our directory.
        self.active.check_in_place()?;
        let cut = self.active.file()?.set_len(self.offset);
        cut.map_err(io_error("ending a log segment", &self.active.path))?;
        let ended = std::mem::replace(&mut self.active, self.directory.add(self.next)?);
        ended.close()?;
        debug_assert_eq!(self.active.first, self.next, "a segment begins with its first commit");
        self.offset = crate::engine::format::SegmentHeader::LEN as u64;
        Ok(())
    }
}
