//! The write-ahead log: the truth of the store.
//!
//! Segments of frames, each frame the commits of one group, numbers without holes. The tree can be
//! made again from it, the feed and point-in-time restore read it. See `format` for the bytes.

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
