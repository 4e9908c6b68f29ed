//! Options for opening an engine.

use std::sync::Arc;

use crate::{Clock, Disk, RealDisk, SystemClock};

/// Bytes of log after which a checkpoint is due.
pub(crate) const CHECKPOINT_LOG_BYTES: u64 = 64 << 20;

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is durable. No acknowledged write is ever lost.
    #[default]
    Sync,
    /// When it is handed to the operating system, which is synced within about 100 ms. A crash of
    /// the process loses nothing; a crash of the machine can lose the last 100 ms.
    Relaxed,
}

/// What runs work that no request waits for: building indexes, expiry, trimming the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// Threads of the engine.
    #[default]
    Threads,
    /// The caller of [`Engine::settle`](crate::Engine::settle): deterministic, for simulations.
    Manual,
}

/// Options for opening an engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// When a write is acknowledged.
    pub durability: Durability,
    /// Memory for cached and unwritten pages of the tree, in addition to the memory of requests.
    pub memory_bytes: usize,
    /// Size of one log segment. Smaller segments are removed sooner, larger ones are fewer.
    pub log_segment_bytes: u64,
    /// How long a change stays in the log, for the feed and for point-in-time restore.
    pub keep_log_secs: u64,
    /// Maximum size of the log, regardless of age. What the tree on disk lacks is always kept.
    pub keep_log_bytes: u64,
    /// Compaction starts automatically when at least half of the tree's file is unused, and the
    /// unused part exceeds what a tree in use needs by this many bytes.
    pub compact_from_bytes: u64,
    /// Whether to leave everything in the directory unchanged: what the tree lacks is replayed in
    /// memory, and writes are refused. Needs no free space.
    pub read_only: bool,
    /// What runs background work.
    pub background: Background,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The file system.
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
    /// The part of the memory that redb caches pages in.
    pub(crate) fn cache_bytes(&self) -> usize {
        self.memory_bytes / 4 * 3
    }

    /// The part that holds pages on their way to disk.
    pub(crate) fn unwritten_bytes(&self) -> usize {
        (self.memory_bytes / 4).max(1 << 20)
    }

    /// Rows after which the first checkpoint is due, until one has shown how many rows make
    /// [`Options::checkpoint_bytes`]: assumes that every row dirties two pages.
    pub(crate) fn checkpoint_rows(&self) -> u64 {
        (self.checkpoint_bytes() / 8192) as u64
    }

    /// Target size of a checkpoint. Writers wait while it is handed over, so it is small; two of
    /// them fit into the unwritten pages.
    pub(crate) fn checkpoint_bytes(&self) -> usize {
        (self.unwritten_bytes() / 2).min(16 << 20)
    }
}
