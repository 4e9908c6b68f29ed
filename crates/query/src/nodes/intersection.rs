//! AND, where sizes are known: reads its smallest part and lets the others retain what it has, so of
//! these only the chunks are read that the smallest is in.

use keyloom_store::Members;

use super::{Batch, Combination, Found, Node, NodeRef, Outline, ReadOrder, Search, Sizes};
use crate::posting_list::PostingList;

/// What matches all of some parts. The smallest comes first.
#[derive(Clone, Debug)]
pub(crate) struct Intersection {
    smallest: NodeRef,
    others: Vec<NodeRef>,
}

impl Intersection {
    /// The intersection of some parts, or the only part. None without parts.
    pub(crate) fn of(mut parts: Vec<NodeRef>) -> Option<NodeRef> {
        parts.sort_by_key(|part| part.size_max());
        let smallest = (!parts.is_empty()).then(|| parts.remove(0))?;
        if parts.is_empty() {
            return Some(smallest);
        }
        Some(Intersection { smallest, others: parts }.shared())
    }

    fn parts(&self) -> impl Iterator<Item = &NodeRef> {
        std::iter::once(&self.smallest).chain(&self.others)
    }
}

impl Node for Intersection {
    fn next<'f>(&'f self, search: &'f mut Search<'_>, mut from: u64) -> Found<'f, Batch> {
        Box::pin(async move {
            loop {
                let mut batch = search.next(&*self.smallest, from).await?;
                batch.ordinals = search.retain_all(self.others.iter(), batch.ordinals).await?;
                match search.next_if_empty(&batch) {
                    Some(next) => from = next,
                    None => return Ok(batch),
                }
            }
        })
    }

    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members> {
        Box::pin(search.retain_all(self.parts(), ordinals))
    }

    fn sized(&self, sizes: &Sizes) -> Option<NodeRef> {
        let parts = self.parts().map(|part| part.sized(sizes)).collect::<Option<_>>()?;
        Intersection::of(parts)
    }

    fn size_max(&self) -> u64 {
        let size = self.smallest.size_max();
        debug_assert!(self.others.iter().all(|other| other.size_max() >= size), "smallest first");
        size
    }

    fn estimate(&self, list_size: u64) -> u64 {
        estimate_all(self.parts(), list_size)
    }

    fn posting_lists(&self, lists: &mut Vec<PostingList>) {
        self.parts().for_each(|part| part.posting_lists(lists));
    }

    fn outline(&self) -> Outline {
        let all = Combination::All(ReadOrder::SmallestFirst);
        Outline::combine(all, self.parts().map(|part| part.outline()).collect())
    }
}

/// An estimate of how many ordinals match all parts, if these are independent.
pub(super) fn estimate_all<'n>(parts: impl Iterator<Item = &'n NodeRef>, list_size: u64) -> u64 {
    parts.fold(list_size, |passing, part| {
        let share = part.estimate(list_size).min(list_size);
        passing.saturating_mul(share) / list_size.max(1)
    })
}
