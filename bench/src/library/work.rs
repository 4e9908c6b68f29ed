//! The work that is done on either side.

use std::time::Duration;

use crate::{Outcome, Random, SpeedMeasure};

/// Bytes of a comment's body.
const BODY_BYTES: usize = 900;
/// Comments per page.
pub(super) const PAGE: u64 = 20;
/// An operation of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Create {
        writers: usize,
    },
    Get,
    Update,
    /// A page of the list of all comments, this many pages after the first.
    Page {
        after: u64,
    },
}

impl Work {
    pub(super) fn name(self) -> String {
        match self {
            Work::Create { writers: 1 } => "library: create 1 KB, 1 writer".to_owned(),
            Work::Create { writers } => format!("library: create 1 KB, {writers} writers"),
            Work::Get => "library: get 1 KB".to_owned(),
            Work::Update => "library: update, read and written".to_owned(),
            Work::Page { after } => format!("library: page {} of a list, 20 × 1 KB", after + 1),
        }
    }

    pub(super) fn threads(self) -> usize {
        match self {
            Work::Create { writers } => writers,
            Work::Get | Work::Update | Work::Page { .. } => 1,
        }
    }

    pub(super) fn measure(self) -> SpeedMeasure {
        match self {
            Work::Create { .. } | Work::Update => SpeedMeasure::Rate,
            Work::Get | Work::Page { .. } => SpeedMeasure::TypicalCall,
        }
    }
}

/// One side: performs an operation and returns how long it took.
pub(super) trait Side: Sync {
    fn call(&self, work: Work, random: &mut Random) -> Outcome<Duration>;
}

/// Returns a unique body.
pub(super) fn body(random: &mut Random) -> String {
    let words = std::iter::repeat_with(|| format!("{:016x} ", random.next()));
    let mut body: String = words.take(BODY_BYTES.div_ceil(17)).collect();
    body.truncate(BODY_BYTES);
    body
}
