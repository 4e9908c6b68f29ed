//! Commit numbers.

/// The number of a commit. The first is 1; there are no gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CommitNo(pub(crate) u64);

impl CommitNo {
    /// The position before the first commit.
    pub(crate) const NONE: CommitNo = CommitNo(0);

    pub(crate) fn next(self) -> CommitNo {
        CommitNo(self.0.saturating_add(1))
    }
}
