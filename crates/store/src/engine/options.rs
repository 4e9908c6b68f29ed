//! How to open an engine.

use std::sync::Arc;

use crate::{Clock, Disk, RealDisk, SystemClock};

/// Log written since the last checkpoint that brings the next.
pub(crate) const CHECKPOINT_LOG_BYTES: u64 = 64 << 20;

/// When a write is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is safe on disk. Nothing acknowledged is ever lost.
    #[default]
    Sync,
    /// When it is handed to the operating system; it is synced within about a tenth of a second.
    /// A crash of the process loses nothing, a crash of the machine may lose that tenth.
    Relaxed,
}

/// Who does the work that no request waits for: filling indexes, expiry, trimming the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// Threads of the engine.
    #[default]
    Threads,
    /// Whoever calls [`Engine::settle`](crate::Engine::settle): repeatable, for simulations.
    Manual,
}

/// How to open an engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// When a write is answered.
    pub durability: Durability,
    /// Memory for cached and unwritten pages of the tree. What requests carry comes on top.
    pub memory_bytes: usize,
    /// Size of one file of the log. Smaller files are let go sooner, larger ones are fewer.
    pub log_segment_bytes: u64,
    /// How long a change stays in the log, for the feed and for restoring to a moment.
    pub keep_log_secs: u64,
    /// How large the log may grow, whatever its age. What the tree does not have yet is always
    /// kept.
    pub keep_log_bytes: u64,
    /// A compaction starts by itself when at least half of the tree's file is unused, and so much more
    /// than a tree in use needs anyway.
    pub compact_from_bytes: u64,
    /// Whether nothing in the directory is ever changed: what the tree lacks is replayed in memory, and
    /// writes are refused. Needs no free space.
    pub read_only: bool,
    /// Who works in the background.
    pub background: Background,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Keeps the files.
    pub disk: Arc<dyn Disk>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::Sync,
            memory_bytes: 256 << 20,
            log_segment_bytes: 16 << 20,
            keep_log_secs: 24 * 60 * 60,
            keep_log_bytes: 1 << 30,
            compact_from_bytes: 64 << 20,
            read_only: false,
            background: Background::Threads,
            clock: Arc::new(SystemClock),
            disk: Arc::new(RealDisk),
        }
    }
}

impl Options {
    /// The part of the memory that redb keeps pages in.
    pub(crate) fn cache_bytes(&self) -> usize {
        self.memory_bytes / 4 * 3
    }

    /// The part that holds pages on their way to the disk.
    pub(crate) fn unwritten_bytes(&self) -> usize {
        (self.memory_bytes / 4).max(1 << 20)
    }

    /// Rows after which a checkpoint is due, as long as none has told how many make
    /// [`Options::checkpoint_bytes`]: every row is taken for one that dirties two pages.
    pub(crate) fn checkpoint_rows(&self) -> u64 {
        (self.checkpoint_bytes() / 8192) as u64
    }

    /// How much a checkpoint should bring to the disk. Writers wait while it is handed over, so
    /// it is little; and two of them fit into what may be unwritten.
    pub(crate) fn checkpoint_bytes(&self) -> usize {
        (self.unwritten_bytes() / 2).min(16 << 20)
    }
}
