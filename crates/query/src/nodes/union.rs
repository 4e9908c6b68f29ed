//! OR: reads all parts side by side, as far as the one that has got the least far.

use keyloom_store::{Direction, Members};

use super::{Batch, Combination, Found, Node, NodeRef, Outline, Search, Sizes};
use crate::posting_list::PostingList;

/// What matches any of some parts; two at least.
#[derive(Clone, Debug)]
pub(crate) struct Union {
    parts: Vec<NodeRef>,
}

impl Union {
    /// The union of some parts, or the only part. None without parts.
    pub(crate) fn of(mut parts: Vec<NodeRef>) -> Option<NodeRef> {
        match parts.len() {
            0 | 1 => parts.pop(),
            _ => Some(Union { parts }.shared()),
        }
    }
}

impl Node for Union {
    fn next<'f>(&'f self, search: &'f mut Search<'_>, from: u64) -> Found<'f, Batch> {
        Box::pin(async move {
            let mut batches = vec![];
            for part in &self.parts {
                batches.push(search.next(&**part, from).await?);
            }
            // A part that is at its end does not limit how far the batch goes.
            let throughs = batches.iter().filter_map(|batch| batch.through);
            let through = match search.direction {
                Direction::Forward => throughs.min(),
                Direction::Backward => throughs.max(),
            };
            let mut ordinals = Members::default();
            batches.iter().for_each(|batch| ordinals.or(&batch.ordinals));
            if let Some(through) = through {
                search.drop_beyond(&mut ordinals, through);
            }
            Ok(Batch { ordinals, through })
        })
    }

    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members> {
        Box::pin(async move {
            let mut any = Members::default();
            for part in &self.parts {
                any.or(&search.retain(&**part, ordinals.clone()).await?);
            }
            Ok(any)
        })
    }

    fn sized(&self, sizes: &Sizes) -> Option<NodeRef> {
        Union::of(self.parts.iter().filter_map(|part| part.sized(sizes)).collect())
    }

    fn size_max(&self) -> u64 {
        self.parts.iter().map(|part| part.size_max()).fold(0, u64::saturating_add)
    }

    fn posting_lists(&self, lists: &mut Vec<PostingList>) {
        self.parts.iter().for_each(|part| part.posting_lists(lists));
    }

    fn outline(&self) -> Outline {
        Outline::combine(Combination::Any, self.parts.iter().map(|part| part.outline()).collect())
    }
}
