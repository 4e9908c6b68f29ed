//! Who takes part. A new contender is a variant here.

use std::path::Path;

use keyloom_store::Durability;

use crate::{Contender, Keyloom, LogRedb, Outcome, RawRedb};

/// A kind of contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// redb alone: what reads are compared with.
    RawRedb,
    /// A log with group commit in front of redb: what writes are compared with.
    LogRedb,
    /// The engine, as it is by default.
    Keyloom,
    /// The engine that answers before the sync. Its puts are not durable when answered.
    KeyloomRelaxed,
}

impl Kind {
    /// In the order of the table.
    pub(crate) const ALL: &[Kind] =
        &[Kind::RawRedb, Kind::LogRedb, Kind::Keyloom, Kind::KeyloomRelaxed];

    /// What the table calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::RawRedb => "redb",
            Kind::LogRedb => "log+redb",
            Kind::Keyloom => "keyloom",
            Kind::KeyloomRelaxed => "keyloom relaxed",
        }
    }

    /// The kind that the table calls so.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Opens it in a directory, empty or not; replays whatever it must.
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

    /// Whether it writes a log, and so has checkpoints and something to replay.
    pub(crate) fn has_log(self) -> bool {
        match self {
            Kind::RawRedb => false,
            Kind::LogRedb | Kind::Keyloom | Kind::KeyloomRelaxed => true,
        }
    }
}
