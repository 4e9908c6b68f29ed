//! The log on disk: segments of frames; each frame holds the commits of one batch.
//!
//! ```text
//! segment   +--------+--------+--------+---- - - ----+
//!           | header | frame  | frame  | zeros or end|
//!           +--------+--------+--------+---- - - ----+
//! header    magic "KEYLOOM\n"  8 | version 4 | zero 4 | store 8 | previous segment's first commit 8
//!           | first commit 8 | checksum 8
//! frame     magic "KLFR" 4 | payload length 4 | first commit 8 | synced commit 8 | commits 4
//!           | header checksum 4 | checksum 8 | payload
//! ```
//!
//! All integers are big-endian. A checksum is XXH3-64 of everything else in the header and of the
//! payload, seeded with the store's id, so that a frame of another store is not a frame here. The
//! header checksum is the low half of the same hash of what precedes it: bytes inside an item that
//! look like a header are recognized without reading the payload that they claim to have.
//!
//! `synced commit` is the last commit known to be durable when the frame was written. It
//! distinguishes a torn tail from damage: an unreadable position is a torn tail unless some later
//! frame says that the commit expected there was durable.

use twox_hash::XxHash3_64;

use super::{Commit, CommitNo, FORMAT_VERSION, Malformed, Reader, Writer};

const SEGMENT_MAGIC: &[u8; 8] = b"KEYLOOM\n";
const FRAME_MAGIC: &[u8; 4] = b"KLFR";

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// The store it belongs to.
    pub(crate) store: u64,
    /// The first commit of the previous segment, so that a missing one is noticed; 0 if there never
    /// was one.
    pub(crate) previous: CommitNo,
    /// The first commit of its first frame.
    pub(crate) first: CommitNo,
}

impl SegmentHeader {
    pub(crate) const LEN: usize = 48;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::with_capacity(Self::LEN);
        out.raw(SEGMENT_MAGIC);
        out.raw(&FORMAT_VERSION.to_be_bytes());
        out.raw(&[0; 4]);
        out.raw(&self.store.to_be_bytes());
        out.raw(&self.previous.0.to_be_bytes());
        out.raw(&self.first.0.to_be_bytes());
        let mut bytes = out.into_vec();
        let checksum = XxHash3_64::oneshot(&bytes);
        bytes.extend_from_slice(&checksum.to_be_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; Self::LEN]) -> Result<SegmentHeader, Malformed> {
        let (covered, checksum) = bytes.split_at(Self::LEN - 8);
        let mut reader = Reader::new(covered);
        if reader.raw(8)? != SEGMENT_MAGIC {
            return Err(Malformed("the log segment has no valid header"));
        }
        if reader.u32()? != FORMAT_VERSION {
            return Err(Malformed("the log segment has another format version"));
        }
        if Reader::new(checksum).u64()? != XxHash3_64::oneshot(covered) {
            return Err(Malformed("the segment header does not match its checksum"));
        }
        reader.raw(4)?;
        let store = reader.u64()?;
        let (previous, first) = (CommitNo(reader.u64()?), CommitNo(reader.u64()?));
        Ok(SegmentHeader { store, previous, first })
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) payload_len: u32,
    pub(crate) first: CommitNo,
    pub(crate) synced: CommitNo,
    pub(crate) commits: u32,
    pub(crate) checksum: u64,
}

impl FrameHeader {
    pub(crate) const LEN: usize = 40;
    pub(crate) const MAGIC: &[u8; 4] = FRAME_MAGIC;

    /// Decodes a header of a store; [`FrameHeader::fits`] then checks the payload.
    pub(crate) fn decode(bytes: &[u8; Self::LEN], store: u64) -> Result<FrameHeader, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.raw(4)? != FRAME_MAGIC {
            return Err(Malformed("there is no frame here"));
        }
        let payload_len = reader.u32()?;
        let first = CommitNo(reader.u64()?);
        let synced = CommitNo(reader.u64()?);
        let commits = reader.u32()?;
        if reader.u32()? != header_checksum(&bytes[..28], store) {
            return Err(Malformed("the frame header does not match its checksum"));
        }
        Ok(FrameHeader { payload_len, first, synced, commits, checksum: reader.u64()? })
    }

    /// Whether header and payload match the checksum.
    pub(crate) fn fits(&self, header: &[u8; Self::LEN], payload: &[u8], store: u64) -> bool {
        let covered = &header[..Self::LEN - 8];
        self.payload_len as usize == payload.len()
            && self.checksum == checksum(covered, payload, store)
    }

    /// Returns the last commit of the frame.
    pub(crate) fn last(&self) -> CommitNo {
        CommitNo(self.first.0.saturating_add(u64::from(self.commits)).saturating_sub(1))
    }
}

/// The commits of one batch, on their way into the log.
#[derive(Debug)]
pub(crate) struct Frame {
    first: CommitNo,
    commits: u32,
    /// Space for the header, then the payload.
    bytes: Writer,
}

impl Frame {
    /// Starts a frame that begins with this commit, reusing a buffer.
    pub(crate) fn new(first: CommitNo, buffer: Vec<u8>) -> Frame {
        let mut bytes = Writer::reusing(buffer);
        bytes.raw(&[0; FrameHeader::LEN]);
        Frame { first, commits: 0, bytes }
    }

    pub(crate) fn push(&mut self, commit: &Commit) {
        commit.write(&mut self.bytes);
        self.commits += 1;
    }

    /// Returns the first commit of the frame, if its commits end with `last`.
    pub(crate) fn commits_to(&self, last: CommitNo) -> Option<CommitNo> {
        let is_last = self.first.0 + u64::from(self.commits) == last.0 + 1;
        (is_last && self.commits > 0).then_some(self.first)
    }

    /// Returns the whole frame as bytes; `None` if its length does not fit the header, which the
    /// committer's limit on batches rules out.
    pub(crate) fn seal(self, synced: CommitNo, store: u64) -> Option<Vec<u8>> {
        debug_assert!(synced < self.first, "a frame is written before it is synced");
        let mut bytes = self.bytes.into_vec();
        let (head, payload) = bytes.split_at_mut(FrameHeader::LEN);
        let payload_len = u32::try_from(payload.len()).ok()?;
        head[..4].copy_from_slice(FRAME_MAGIC);
        head[4..8].copy_from_slice(&payload_len.to_be_bytes());
        head[8..16].copy_from_slice(&self.first.0.to_be_bytes());
        head[16..24].copy_from_slice(&synced.0.to_be_bytes());
        head[24..28].copy_from_slice(&self.commits.to_be_bytes());
        let header_checksum = header_checksum(&head[..28], store);
        head[28..32].copy_from_slice(&header_checksum.to_be_bytes());
        let checksum = checksum(&head[..FrameHeader::LEN - 8], payload, store);
        head[32..40].copy_from_slice(&checksum.to_be_bytes());
        Some(bytes)
    }

    /// Decodes the commits of a frame's payload.
    pub(crate) fn commits(header: &FrameHeader, payload: &[u8]) -> Result<Vec<Commit>, Malformed> {
        let mut reader = Reader::new(payload);
        let commits = (0..header.commits).map(|_| Commit::read(&mut reader)).collect();
        if !reader.is_empty() {
            return Err(Malformed("a frame has bytes after its last commit"));
        }
        commits
    }
}

fn header_checksum(head: &[u8], store: u64) -> u32 {
    (XxHash3_64::oneshot_with_seed(store, head) & u64::from(u32::MAX)) as u32
}

fn checksum(head: &[u8], payload: &[u8], store: u64) -> u64 {
    let head_sum = XxHash3_64::oneshot_with_seed(store, head);
    XxHash3_64::oneshot_with_seed(head_sum, payload)
}
