//! What a query node is: a cursor over ordinals with two verbs.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom_store::Members;
use keyloom_value::KeyBytes;

use super::{Outline, Search};
use crate::Error;
use crate::posting_list::PostingList;

/// A node of a query: which ordinals match a part of a filter. Nodes have no state; the caller keeps
/// the position of a search.
///
/// Call the two verbs through [`Search::next`] and [`Search::retain`], also for children: those
/// assert what an implementation MUST keep:
///
/// - `next` returns **all** matching ordinals from `from` through [`Batch::through`], in the
///   direction of the search, and no others. `through` is never behind `from`. If it is absent,
///   nothing matches beyond. A batch with a `through` has no ordinals only if the budget is spent, or
///   the rows that were read do not count;
/// - `retain` returns a subset of the ordinals that it is given;
/// - both add all that they read to [`Search::cost`], and loops end when [`Search::is_spent`];
/// - `size_max` is never less than how many match, as of when sizes were learned.
pub(crate) trait Node: fmt::Debug + Send + Sync {
    /// Returns the first matching ordinals at or beyond `from`: as many as are cheap to read at once.
    fn next<'f>(&'f self, search: &'f mut Search<'_>, from: u64) -> Found<'f, Batch>;

    /// Returns the given ordinals that match. At least one is given.
    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members>;

    /// The same node when the sizes of posting lists are known, with the smallest first. None if
    /// nothing can match.
    fn sized(&self, sizes: &Sizes) -> Option<NodeRef>;

    /// An upper bound of the matches; [`Sizes::UNKNOWN`] if there is none.
    fn size_max(&self) -> u64;

    /// The number of matches, if it is known without reading.
    fn size_exact(&self) -> Option<u64> {
        None
    }

    /// An estimate of the matches in a list of this size, if posting lists are independent.
    fn estimate(&self, _list_size: u64) -> u64 {
        self.size_max()
    }

    /// Adds every posting list that the node reads.
    fn posting_lists(&self, lists: &mut Vec<PostingList>);

    /// What `explain` draws of it.
    fn outline(&self) -> Outline;

    /// The node, to be shared by others.
    fn shared(self) -> NodeRef
    where
        Self: Sized + 'static,
    {
        Arc::new(self)
    }
}

/// A node that several others can share.
pub(crate) type NodeRef = Arc<dyn Node>;

/// What a verb returns.
pub(crate) type Found<'f, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'f>>;

/// All matching ordinals between where a search was and where it has come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) ordinals: Members,
    /// The last ordinal that was decided on; absent if nothing is left.
    pub(crate) through: Option<u64>,
}

/// How many ordinals are in posting lists.
#[derive(Debug, Default)]
pub(crate) struct Sizes(Vec<(KeyBytes, u64)>);

impl Sizes {
    /// The size of a posting list before it is known.
    pub(crate) const UNKNOWN: u64 = u64::MAX;

    pub(crate) fn new(lists: &[PostingList], sizes: Vec<u64>) -> Sizes {
        debug_assert_eq!(lists.len(), sizes.len(), "one size for each list");
        Sizes(lists.iter().map(|list| list.name.clone()).zip(sizes).collect())
    }

    /// The size of a posting list. One whose size was not read is empty.
    pub(crate) fn of(&self, list: &PostingList) -> u64 {
        self.0.iter().find(|(name, _)| *name == list.name).map_or(0, |(_, size)| *size)
    }
}
