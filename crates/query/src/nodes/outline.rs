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
    /// Looks for a range in this many slices of what its part has.
    Range { text: String, slices: usize },
    /// Combines its parts.
    Combine(Combination),
}

/// What matches a combination of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combination {
    /// What matches all of them.
    All(ReadOrder),
    /// What matches any of them.
    Any,
    /// What matches none of them.
    None,
}

/// The order in which the parts of an AND are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOrder {
    /// There is only one, besides those that must not match.
    Single,
    /// Their sizes are known.
    SmallestFirst,
}

impl Combination {
    /// The combination in the words of `explain`.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Combination::All(ReadOrder::Single) => "in all of",
            Combination::All(ReadOrder::SmallestFirst) => "in all of, the rarest first",
            Combination::Any => "any of",
            Combination::None => "in none of",
        }
    }
}

impl Outline {
    pub(crate) fn read(list: &PostingList, size: u64) -> Outline {
        Outline { step: Step::Read { list: list.clone(), size }, parts: vec![] }
    }

    pub(crate) fn range(text: &str, slices: usize, present: Outline) -> Outline {
        let step = Step::Range { text: text.to_owned(), slices };
        Outline { step, parts: vec![present] }
    }

    pub(crate) fn combine(combination: Combination, parts: Vec<Outline>) -> Outline {
        Outline { step: Step::Combine(combination), parts }
    }
}
