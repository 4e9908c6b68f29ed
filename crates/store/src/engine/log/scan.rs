//! Reading a segment frame by frame, and distinguishing its end from damage.

use std::io::ErrorKind;
use std::sync::Arc;

use crate::engine::format::{Commit, CommitNo, Frame, FrameHeader};
use crate::engine::{damaged, io_error};
use crate::{DiskFile, Error};

use super::Segment;

/// A frame that was read and whose checksums match.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) segment: Arc<Segment>,
    pub(crate) offset: u64,
    pub(crate) header: FrameHeader,
    pub(crate) payload: Vec<u8>,
}

impl Scanned {
    /// Returns the frame's commits with their numbers.
    pub(crate) fn commits(
        &self,
    ) -> Result<impl Iterator<Item = (CommitNo, Commit)> + use<>, Error> {
        let commits = Frame::commits(&self.header, &self.payload)
            .map_err(|why| damaged(&self.segment.path, self.offset, why.0))?;
        Ok((self.header.first.0..).map(CommitNo).zip(commits))
    }
}

/// Iterates over the frames of one segment.
#[derive(Debug)]
pub(crate) struct FrameScan {
    segment: Arc<Segment>,
    file: Arc<dyn DiskFile>,
    len: u64,
    offset: u64,
    expected: CommitNo,
}

impl FrameScan {
    /// Starts at the segment's first frame.
    pub(crate) fn new(segment: &Arc<Segment>) -> Result<FrameScan, Error> {
        FrameScan::from_commit(segment, segment.first)
    }

    /// Starts at a frame at or before the one that holds a commit.
    pub(crate) fn from_commit(
        segment: &Arc<Segment>,
        commit: CommitNo,
    ) -> Result<FrameScan, Error> {
        let (expected, offset) = segment.mark_before(commit);
        let (file, len) = (segment.file()?, segment.len()?);
        Ok(FrameScan { segment: Arc::clone(segment), file, len, offset, expected })
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Returns the offset at which the next frame would begin.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the commit that the next frame would begin with.
    pub(crate) fn expected(&self) -> CommitNo {
        self.expected
    }

    /// Returns the next frame; `None` if there is no complete frame with the expected number.
    pub(crate) fn next(&mut self) -> Result<Option<Scanned>, Error> {
        let Some(frame) = self.frame_at(self.offset)? else { return Ok(None) };
        if frame.header.first != self.expected || frame.header.commits == 0 {
            return Ok(None);
        }
        // Its checksums match, so a writer wrote it (`Frame::seal`).
        debug_assert!(
            frame.header.synced < frame.header.first,
            "a frame is synced before it is written"
        );
        self.offset += (FrameHeader::LEN + frame.payload.len()) as u64;
        self.expected = frame.header.last().next();
        debug_assert!(self.offset <= self.len, "a frame ends behind its segment");
        Ok(Some(frame))
    }

    /// Returns the error for the expected commit, which cannot be read.
    pub(crate) fn hole(&self) -> Error {
        let what = format!(
            "commit {} should begin here but cannot be read: restore from a backup",
            self.expected.0
        );
        damaged(&self.segment.path, self.offset, &what)
    }

    /// Fails if the end of the scan was once durable: if any later frame of this segment says so.
    pub(crate) fn check_tail(&self) -> Result<(), Error> {
        let mut tail = vec![0; (self.len.saturating_sub(self.offset)) as usize];
        if !self.read(self.offset, &mut tail)? {
            return Ok(());
        }
        let mut from = 0;
        while let Some(found) = find(&tail[from..], FrameHeader::MAGIC) {
            let offset = self.offset + (from + found) as u64;
            if let Some(frame) = self.frame_at(offset)?
                && frame.header.synced >= self.expected
            {
                return Err(self.hole());
            }
            from += found + 1;
        }
        Ok(())
    }

    fn frame_at(&self, offset: u64) -> Result<Option<Scanned>, Error> {
        if offset + FrameHeader::LEN as u64 > self.len {
            return Ok(None);
        }
        let mut bytes = [0; FrameHeader::LEN];
        if !self.read(offset, &mut bytes)? {
            return Ok(None);
        }
        let Ok(header) = FrameHeader::decode(&bytes, self.segment.store) else { return Ok(None) };
        let start = offset + FrameHeader::LEN as u64;
        if start + u64::from(header.payload_len) > self.len {
            return Ok(None);
        }
        let mut payload = vec![0; header.payload_len as usize];
        let read = self.read(start, &mut payload)?;
        if !read || !header.fits(&bytes, &payload, self.segment.store) {
            return Ok(None);
        }
        Ok(Some(Scanned { segment: Arc::clone(&self.segment), offset, header, payload }))
    }

    /// Fills the buffer; returns false if the file ends before. A log that is read while its store
    /// is open loses the zeros after its last frame when the segment ends.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<bool, Error> {
        match self.file.read_at(offset, buffer) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(io_error("reading the log", &self.segment.path)(error)),
        }
    }
}

fn find(haystack: &[u8], needle: &[u8; 4]) -> Option<usize> {
    haystack.windows(4).position(|window| window == needle)
}
