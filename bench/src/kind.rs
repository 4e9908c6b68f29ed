//! The contenders. A new one is a variant here.

use std::path::Path;

use keyloom_store::Durability;

use crate::{Contender, Keyloom, LogRedb, Outcome, RawRedb};

/// A kind of contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// redb alone: the reference for reads.
    RawRedb,
    /// A log with group commit in front of redb: the reference for writes.
    LogRedb,
    /// The engine, with default options.
    Keyloom,
    /// The engine with relaxed durability: puts return before the sync.
    KeyloomRelaxed,
}

impl Kind {
    /// In the order of the table.
    pub(crate) const ALL: &[Kind] =
        &[Kind::RawRedb, Kind::LogRedb, Kind::Keyloom, Kind::KeyloomRelaxed];

    /// Returns its name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::RawRedb => "redb",
            Kind::LogRedb => "log+redb",
            Kind::Keyloom => "keyloom",
            Kind::KeyloomRelaxed => "keyloom relaxed",
        }
    }

    /// Returns the kind with this name in the table.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Opens it in a directory, empty or not; replays its log.
    pub(crate) fn open(self, directory: &Path, memory_bytes: usize) -> Outcome<Box<dyn Contender>> {
        Ok(match self {
            Kind::RawRedb => Box::new(RawRedb::open(directory, memory_bytes)?),
            Kind::LogRedb => Box::new(LogRedb::open(directory, memory_bytes)?),
            Kind::Keyloom => Box::new(Keyloom::open(directory, Durability::Sync, memory_bytes)?),
            Kind::KeyloomRelaxed => {
                Box::new(Keyloom::open(directory, Durability::Relaxed, memory_bytes)?)
            }
        })
    }

    /// Returns whether it writes a log, and so has checkpoints and replay.
    pub(crate) fn has_log(self) -> bool {
        match self {
            Kind::RawRedb => false,
            Kind::LogRedb | Kind::Keyloom | Kind::KeyloomRelaxed => true,
        }
    }
}
