//! Returning unused space of a data directory.

use keyloom_store::Compaction;
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
        let engine = data.engine()?;
        let compacted = channel.watch(|report| {
            let compacted = engine.compact(&mut |step| {
                let (count, done, total) = (step.rows, step.copied_bytes, step.needed_bytes);
                report(Progress { count, done, total: Some(total) })
            });
            compacted.map_err(|error| error.to_string())
        });
        let Compaction { before_bytes, after_bytes, rows, .. } = compacted?;
        Ok(Compacted { before_bytes, after_bytes, rows })
    }
}
