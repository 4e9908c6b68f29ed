//! Returning unused space of a data directory.

use keyloom_store::Compaction;
use serde::{Deserialize, Serialize};

use super::{Data, Operation, Progress, Talk};
use crate::directory::Use;

/// Copies the tree into a file without gaps. Tells first how much space that needs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Compact {}

/// What a compaction has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// Bytes that the tree took before.
    pub before_bytes: u64,
    /// Bytes that it takes now.
    pub after_bytes: u64,
    /// Rows that it has.
    pub rows: u64,
}

impl Operation for Compact {
    const NAME: &'static str = "compact";
    type Answer = Compacted;

    fn used(&self) -> Use {
        Use::Change
    }

    async fn run(self, data: &Data, talk: &mut Talk<'_>) -> Result<Compacted, String> {
        let engine = data.engine()?;
        let compacted = talk.watch(|tell| {
            let compacted = engine.compact(&mut |step| {
                let (count, done, total) = (step.rows, step.copied_bytes, step.needed_bytes);
                tell(Progress { count, done, total: Some(total) })
            });
            compacted.map_err(|error| error.to_string())
        });
        let Compaction { before_bytes, after_bytes, rows, .. } = compacted?;
        Ok(Compacted { before_bytes, after_bytes, rows })
    }
}
