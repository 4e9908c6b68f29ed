//! Walking the whole log: the one place that knows where it may end.

use std::sync::Arc;

use crate::Error;
use crate::engine::format::CommitNo;

use super::{FrameScan, Scanned, Segment};

/// Walks frames across segments. A hole between two segments is damage; where the last segment
/// ends, the caller says what that means.
#[derive(Debug)]
pub(crate) struct LogWalk {
    scan: FrameScan,
    /// The segments after the one being read, next one last.
    rest: Vec<Arc<Segment>>,
}

impl LogWalk {
    /// From a frame at or before the one that holds a commit; none if the segments begin after
    /// it.
    pub(crate) fn from_commit(
        segments: &[Arc<Segment>],
        commit: CommitNo,
    ) -> Result<Option<LogWalk>, Error> {
        let Some(place) = segments.iter().rposition(|segment| segment.first <= commit) else {
            return Ok(None);
        };
        let scan = FrameScan::from_commit(&segments[place], commit)?;
        let rest = segments[place + 1..].iter().rev().cloned().collect();
        Ok(Some(LogWalk { scan, rest }))
    }

    /// The next frame; none where the last segment has no more.
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

    /// Where the walk has come to.
    pub(crate) fn position(&self) -> &FrameScan {
        &self.scan
    }
}
