//! How much a call may read, and how much it has read.

/// How much one call may read. It stops once it has read that much, so it can exceed the budget by one
/// batch; it always looks at one entity at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Rows of indexes and of the table.
    pub rows: u64,
    /// Bytes of those rows, as DynamoDB counts them.
    pub bytes: u64,
}

/// How much a call has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCost {
    /// Rows of indexes and of the table.
    pub rows: u64,
    /// Bytes of those rows, as DynamoDB counts them.
    pub bytes: u64,
}

impl ReadCost {
    pub(crate) fn add(&mut self, more: ReadCost) {
        self.rows += more.rows;
        self.bytes += more.bytes;
    }

    /// Whether that is all that a budget allows.
    pub(crate) fn has_spent(&self, budget: Budget) -> bool {
        self.rows >= budget.rows || self.bytes >= budget.bytes
    }
}

impl Budget {
    /// Enough for the longest page, of entities of 16 KiB each.
    pub const STANDARD: Budget = Budget { rows: 5_000, bytes: 16 << 20 };
}
