//! A posting list that the store keeps as a set: chunks of 65,536 ordinals, and its size is known.
//! Refuses nothing: a set that was never written is empty.

use keyloom_store::{Members, ReadSet, SetName};

use super::postings::{self, Postings};
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
        // Plans use this node only where the store has sets.
        let Some(sets) = search.sets() else { return Ok(Batch::default()) };
        let set = SetName::new(self.list.name.as_bytes()).map_err(keyloom_store::Error::from)?;
        let (table, direction) = (search.reader.table.clone(), search.direction);
        let part = sets.read_set(ReadSet { table, set, from, direction, chunks: 1 }).await?;
        search.cost.rows += u64::from(part.chunks);
        search.cost.bytes += part.bytes;
        let mut ordinals = part.members;
        search.leave_out(&self.list, &mut ordinals);
        Ok(Batch { ordinals, through: part.through, ..Batch::default() })
    }
}

impl Postings for PostingSet {
    fn read<'f>(&'f self, search: &'f mut Search<'_>, from: u64, _: u32) -> Found<'f, Batch> {
        Box::pin(self.read_chunk(search, from))
    }
}

impl Node for PostingSet {
    fn next<'f>(&'f self, search: &'f mut Search<'_>, from: u64) -> Found<'f, Batch> {
        Box::pin(self.read_chunk(search, from))
    }

    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members> {
        Box::pin(postings::retain(self, search, ordinals))
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
