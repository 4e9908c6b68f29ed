//! A posting list: chunks of 65,536 ordinals, and its size is known. Refuses nothing: a list that was
//! never written is empty.

use keyloom_store::Members;

use super::{Batch, Found, Node, NodeRef, Outline, Search, Sizes};
use crate::Error;
use crate::posting_list::PostingList;

#[derive(Clone, Debug)]
pub(crate) struct PostingSet {
    list: PostingList,
    size: u64,
}

impl PostingSet {
    pub(crate) fn new(list: PostingList, size: u64) -> PostingSet {
        PostingSet { list, size }
    }

    /// Reads the next chunk that has members.
    async fn read_chunk(&self, search: &mut Search<'_>, from: u64) -> Result<Batch, Error> {
        let (mut ordinals, through) = search.read_chunk(&self.list, from).await?;
        search.leave_out(&self.list, &mut ordinals);
        Ok(Batch { ordinals, through })
    }

    /// Each read skips to the next ordinal in question, so only the chunks that the ordinals are in
    /// are read.
    async fn retain_given(
        &self,
        search: &mut Search<'_>,
        ordinals: Members,
    ) -> Result<Members, Error> {
        let (mut left, mut kept) = (ordinals, Members::default());
        while let Some(from) = search.first(&left) {
            let batch = self.read_chunk(search, from).await?;
            let next = search.next_after(&batch);
            let mut found = batch.ordinals;
            found.and(&left);
            kept.or(&found);
            let Some(next) = next else { break };
            search.drop_before(&mut left, next);
        }
        Ok(kept)
    }
}

impl Node for PostingSet {
    fn next<'f>(&'f self, search: &'f mut Search<'_>, from: u64) -> Found<'f, Batch> {
        Box::pin(self.read_chunk(search, from))
    }

    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members> {
        Box::pin(self.retain_given(search, ordinals))
    }

    fn sized(&self, sizes: &Sizes) -> Option<NodeRef> {
        let size = sizes.of(&self.list);
        (size > 0).then(|| PostingSet { size, ..self.clone() }.shared())
    }

    fn size_max(&self) -> u64 {
        self.size
    }

    fn size_exact(&self) -> Option<u64> {
        Some(self.size).filter(|size| *size != Sizes::UNKNOWN)
    }

    fn posting_lists(&self, lists: &mut Vec<PostingList>) {
        lists.push(self.list.clone());
    }

    fn outline(&self) -> Outline {
        Outline::read(&self.list, self.size)
    }
}
