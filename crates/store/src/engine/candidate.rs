//! A compacted tree on its way to replace the one in use.

use std::fmt;
use std::sync::Arc;

use crate::{Error, Time};

use super::catalog::Catalog;
use super::files::Files;
use super::format::CommitNo;
use super::replay::Replay;
use super::tree::Tree;

/// A new tree that is about to replace the tree of these files.
pub(crate) struct Candidate {
    pub(super) tree: Tree,
    pub(super) catalog: Arc<Catalog>,
    pub(super) applied: CommitNo,
    pub(super) applied_at: Time,
    /// The last commit in its file.
    pub(super) in_tree: CommitNo,
    pub(super) replaces: Arc<Files>,
}

impl Candidate {
    /// Applies the commits of the log up to `newest`.
    pub(super) fn replay(&mut self, newest: CommitNo) -> Result<(), Error> {
        let mut replay = Replay {
            tree: &self.tree,
            catalog: &mut self.catalog,
            applied: self.applied,
            last_at: self.applied_at,
        };
        let replayed = replay.run_until(&self.replaces.log, newest);
        (self.applied, self.applied_at) = (replay.applied, replay.last_at);
        replayed?;
        self.tree.file().failure().map_or(Ok(()), |failure| Err(Error::Io(failure)))
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate").field("applied", &self.applied).finish_non_exhaustive()
    }
}
