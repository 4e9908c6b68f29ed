//! How long a deletion waits for a large one that began earlier: as long as that one makes progress.

use std::time::Duration;

use keyloom_store::Get;
use keyloom_value::{Number, Value};

use super::{DeletionRecord, TOTAL, WriteContext};
use crate::error::Error;

/// How long the other deletion may mark nothing until its process counts as gone.
const SILENT: Duration = Duration::from_secs(2);

/// What was last seen of the deletion that a call waits for.
#[derive(Debug, Default)]
pub(super) struct Patience {
    seen: Option<Sighting>,
}

#[derive(Debug)]
struct Sighting {
    deletion: String,
    /// How many entities it had marked.
    marked: i64,
    /// When that was first seen, since the call began to wait.
    since: Duration,
}

impl Patience {
    /// Whether to wait longer for a deletion, at this time since the call began to wait.
    pub(super) async fn is_left(
        &mut self,
        ctx: &WriteContext<'_>,
        deletion: &DeletionRecord,
        now: Duration,
    ) -> Result<bool, Error> {
        let record = ctx.store.get(Get::new(ctx.table, deletion.key())).await?;
        let marked = record.as_ref().and_then(|record| record.get(TOTAL)).and_then(Value::as_n);
        // One that fits into a transaction is done at once, or abandoned.
        let Some(marked) = marked.and_then(Number::to_i64) else { return Ok(false) };
        let is_same = |seen: &&Sighting| seen.deletion == deletion.id() && seen.marked == marked;
        if let Some(seen) = self.seen.as_ref().filter(is_same) {
            return Ok(now.saturating_sub(seen.since) < SILENT);
        }
        self.seen = Some(Sighting { deletion: deletion.id().to_owned(), marked, since: now });
        Ok(true)
    }
}
