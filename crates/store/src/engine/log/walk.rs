//! Iterating over the whole log: the only code that knows where it may end.

use std::sync::Arc;

use crate::Error;
use crate::engine::format::CommitNo;

use super::{FrameScan, Scanned, Segment};

/// Iterates over frames across segments. A hole between two segments is damage; what the end of the
/// last segment means is up to the caller.
#[derive(Debug)]
pub(crate) struct LogWalk {
    scan: FrameScan,
    /// The segments after the one being read, the next one last.
    rest: Vec<Arc<Segment>>,
}

impl LogWalk {
    /// Starts at a frame at or before the one that holds a commit; `None` if the segments begin
    /// after it.
    pub(crate) fn from_commit(
        segments: &[Arc<Segment>],
        commit: CommitNo,
    ) -> Result<Option<LogWalk>, Error> {
        let Some(index) = segments.iter().rposition(|segment| segment.first <= commit) else {
            return Ok(None);
        };
        let scan = FrameScan::from_commit(&segments[index], commit)?;
        let rest = segments[index + 1..].iter().rev().cloned().collect();
        Ok(Some(LogWalk { scan, rest }))
    }

    /// Returns the next frame; `None` at the end of the last segment.
    pub(crate) fn next(&mut self) -> Result<Option<Scanned>, Error> {
        loop {
            if let Some(frame) = self.scan.next()? {
                return Ok(Some(frame));
            }
            match self.rest.pop() {
                Some(next) if next.first == self.scan.expected() => {
                    self.scan = FrameScan::new(&next)?;
                }
                Some(_) => return Err(self.scan.hole()),
                None => return Ok(None),
            }
        }
    }

    /// Returns the current position.
    pub(crate) fn position(&self) -> &FrameScan {
        &self.scan
    }
}
