//! Returning unused space of a data directory: by command, and after an import that has loaded most of it.

use keyloom_store::{Compaction, Engine};
use serde::{Deserialize, Serialize};

use super::{Channel, Data, Operation, Progress};
use crate::directory::OpenMode;

/// Copies the tree into a file without gaps. First reports how much space that needs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Compact {}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// Size of the tree before.
    pub before_bytes: u64,
    /// Size of the tree now.
    pub after_bytes: u64,
    /// Rows in the tree.
    pub rows: u64,
}

impl Operation for Compact {
    const NAME: &'static str = "compact";
    type Answer = Compacted;

    fn open_mode(&self) -> OpenMode {
        OpenMode::Write
    }

    async fn run(self, data: &Data, channel: &mut Channel<'_>) -> Result<Compacted, String> {
        let Compaction { before_bytes, after_bytes, rows, .. } =
            compact(data.engine()?, channel, |step| step.rows)?;
        Ok(Compacted { before_bytes, after_bytes, rows })
    }
}

/// Compacts, and reports the progress, in which `count` says how many items were processed.
fn compact(
    engine: &Engine,
    channel: &mut Channel<'_>,
    count: impl Fn(&Compaction) -> u64,
) -> Result<Compaction, String> {
    channel.watch(|report| {
        let compacted = engine.compact(&mut |step| {
            let (done, total) = (step.copied_bytes, Some(step.needed_bytes));
            report(Progress { count: count(&step), done, total })
        });
        compacted.map_err(|error| error.to_string())
    })
}

/// Less is not returned after a load.
const UNUSED_BYTES_MIN: u64 = 4 << 20;

/// The size of the rows of a tree before data was loaded into it.
pub(super) struct BeforeLoad<'e> {
    engine: &'e Engine,
    live_bytes: u64,
}

impl<'e> BeforeLoad<'e> {
    /// `None` if that cannot be read: the load need not fail because of it.
    pub(super) fn of(engine: &'e Engine) -> Option<BeforeLoad<'e>> {
        Some(BeforeLoad { engine, live_bytes: engine.status().ok()?.tree_live_bytes })
    }

    /// Compacts a tree that has at least doubled and has a fifth to return, if that is worth a copy: keys that arrived in
    /// any order have left its pages partly filled, and nothing may be written to it for long. `count` is how many
    /// entities were loaded.
    pub(super) fn compact(self, count: u64, channel: &mut Channel<'_>) -> Result<(), String> {
        let status = self.engine.status().map_err(|error| error.to_string())?;
        let (bytes, live_bytes) = (status.tree_bytes, status.tree_live_bytes);
        let unused_bytes = bytes.saturating_sub(live_bytes);
        let is_worth = unused_bytes >= UNUSED_BYTES_MIN && unused_bytes >= bytes / 5;
        if live_bytes / 2 < self.live_bytes || !is_worth {
            return Ok(());
        }
        compact(self.engine, channel, |_| count).map(|_| ())
    }
}
