//! AND NOT: what matches one part and none of others. There is no NOT alone: plans subtract from the
//! posting list of all entities.

use keyloom_store::Members;

use super::{Batch, Combination, Found, Node, NodeRef, Outline, ReadOrder, Search, Sizes, Step};
use crate::Error;
use crate::posting_list::PostingList;

/// What matches a part, and none of those that are excluded, of which there is at least one.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    of: NodeRef,
    excluded: Vec<NodeRef>,
}

impl Difference {
    /// A part without the excluded ones, or the part itself if none are.
    pub(crate) fn of(of: NodeRef, excluded: Vec<NodeRef>) -> NodeRef {
        match excluded.is_empty() {
            true => of,
            false => Difference { of, excluded }.shared(),
        }
    }

    async fn exclude(
        &self,
        search: &mut Search<'_>,
        mut ordinals: Members,
    ) -> Result<Members, Error> {
        for node in &self.excluded {
            let excluded = search.retain(&**node, ordinals.clone()).await?;
            ordinals.and_not(&excluded);
        }
        Ok(ordinals)
    }
}

impl Node for Difference {
    fn next<'f>(&'f self, search: &'f mut Search<'_>, mut from: u64) -> Found<'f, Batch> {
        Box::pin(async move {
            loop {
                let mut batch = search.next(&*self.of, from).await?;
                batch.ordinals = self.exclude(search, batch.ordinals).await?;
                match search.next_if_empty(&batch) {
                    Some(next) => from = next,
                    None => return Ok(batch),
                }
            }
        })
    }

    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members> {
        Box::pin(async move {
            let kept = search.retain(&*self.of, ordinals).await?;
            self.exclude(search, kept).await
        })
    }

    fn sized(&self, sizes: &Sizes) -> Option<NodeRef> {
        let excluded = self.excluded.iter().filter_map(|node| node.sized(sizes)).collect();
        Some(Difference::of(self.of.sized(sizes)?, excluded))
    }

    fn size_max(&self) -> u64 {
        self.of.size_max()
    }

    fn estimate(&self, list_size: u64) -> u64 {
        self.of.estimate(list_size).min(list_size)
    }

    fn posting_lists(&self, lists: &mut Vec<PostingList>) {
        self.of.posting_lists(lists);
        self.excluded.iter().for_each(|node| node.posting_lists(lists));
    }

    /// Drawn as one AND with the part that it subtracts from.
    fn outline(&self) -> Outline {
        let of = self.of.outline();
        let mut all = match of.step {
            Step::Combine(Combination::All(_)) => of,
            Step::Combine(Combination::Any | Combination::None)
            | Step::Range { .. }
            | Step::Read { .. } => Outline::combine(Combination::All(ReadOrder::Single), vec![of]),
        };
        let excluded = self.excluded.iter().map(|node| node.outline()).collect();
        all.parts.push(Outline::combine(Combination::None, excluded));
        all
    }
}
