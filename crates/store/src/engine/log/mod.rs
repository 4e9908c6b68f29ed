//! The write-ahead log: the source of truth of the store.
//!
//! Segments of frames; each frame holds the commits of one batch, numbered without gaps. The tree
//! can be rebuilt from it; the feed and point-in-time restore read it. See `format` for the bytes.

mod directory;
mod end_mark;
mod scan;
mod segment;
mod walk;
mod writer;

pub(crate) use directory::{LogDirectory, Retention};
pub(crate) use scan::{FrameScan, Scanned};
pub(crate) use segment::Segment;
pub(crate) use walk::LogWalk;
pub(crate) use writer::LogWriter;
