//! The shape of a tree of nodes, as `explain` draws it. Says nothing about costs.

use crate::posting_list::PostingList;

/// A node and its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) step: Step,
    pub(crate) parts: Vec<Outline>,
}

/// What a node does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Reads a posting list of this size.
    Read { list: PostingList, size: u64 },
    /// Combines its parts, in these words.
    Combine(&'static str),
}

impl Outline {
    pub(crate) fn read(list: &PostingList, size: u64) -> Outline {
        Outline { step: Step::Read { list: list.clone(), size }, parts: vec![] }
    }

    pub(crate) fn combine(words: &'static str, parts: Vec<Outline>) -> Outline {
        Outline { step: Step::Combine(words), parts }
    }
}
