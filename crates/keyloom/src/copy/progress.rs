//! The progress of a copy.

/// Receives the progress of a copy.
///
/// The [module](crate::copy) has an example.
pub type OnProgress<'a> = &'a (dyn Fn(CopyProgress) + Send + Sync);

/// The progress of one step of a copy.
///
/// The [module](crate::copy) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyProgress {
    /// The step.
    pub step: CopyStep,
    /// How many rows were processed: copied, read, compared or verified.
    pub rows: u64,
    /// How much of the total is done.
    pub done: u64,
    /// The total, if known.
    pub total: Option<u64>,
}

impl CopyProgress {
    /// The progress of a step that processes all rows it reads.
    pub fn new(step: CopyStep, rows: u64, total: Option<u64>) -> CopyProgress {
        CopyProgress { step, rows, done: rows, total }
    }
}

/// What a copy does.
///
/// The [module](crate::copy) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyStep {
    /// Copies portable rows.
    Copying,
    /// Derives counters and posting lists.
    Deriving,
    /// Compares source and target.
    Comparing,
    /// Verifies what was derived.
    Verifying,
}
