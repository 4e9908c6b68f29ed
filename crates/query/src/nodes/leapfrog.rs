//! AND, where posting lists are rows and their sizes are unknown: each list seeks its first ordinal
//! that can match all, and the one that leaps the farthest is taken for the smallest and read from
//! there, a few rows at first. So it reads about as many rows of each list as the smallest has.

use keyloom_store::Members;

use super::intersection::estimate_all;
use super::{Batch, Combination, Found, Node, NodeRef, Outline, ReadOrder, Search, Sizes};
use crate::Error;
use crate::posting_list::PostingList;

/// What matches all of some parts; two at least.
#[derive(Clone, Debug)]
pub(crate) struct Leapfrog {
    parts: Vec<NodeRef>,
}

/// Where all parts may match, and the part that seems to be the smallest.
struct Aligned {
    ordinal: u64,
    smallest: usize,
}

impl Leapfrog {
    /// The intersection of some parts, or the only part. None without parts.
    pub(crate) fn of(mut parts: Vec<NodeRef>) -> Option<NodeRef> {
        match parts.len() {
            0 | 1 => parts.pop(),
            _ => Some(Leapfrog { parts }.shared()),
        }
    }

    /// Returns the first ordinal at or beyond one at which all parts may match; none if there is none.
    async fn align(&self, search: &mut Search<'_>, from: u64) -> Result<Option<Aligned>, Error> {
        let (mut aligned, mut farthest) = (Aligned { ordinal: from, smallest: 0 }, None);
        for (index, part) in self.parts.iter().enumerate() {
            let Some(rows) = part.as_rows() else { continue };
            let Some(next) = rows.first_from(search, aligned.ordinal).await? else {
                return Ok(None);
            };
            // From the start of all ordinals to the first that any entity has says nothing.
            let is_start = aligned.ordinal == search.start();
            let leap = if is_start { 0 } else { next.abs_diff(aligned.ordinal) };
            if farthest.is_none_or(|farthest| leap > farthest) {
                (aligned.smallest, farthest) = (index, Some(leap));
            }
            aligned.ordinal = next;
        }
        Ok(Some(aligned))
    }
}

impl Node for Leapfrog {
    fn next<'f>(&'f self, search: &'f mut Search<'_>, mut from: u64) -> Found<'f, Batch> {
        Box::pin(async move {
            loop {
                let Some(Aligned { ordinal, smallest }) = self.align(search, from).await? else {
                    return Ok(Batch::default());
                };
                let mut batch = match self.parts[smallest].as_rows() {
                    Some(rows) => rows.next_combined(search, ordinal).await?,
                    None => search.next(&*self.parts[smallest], ordinal).await?,
                };
                let others = self.parts.iter().enumerate().filter(|(index, _)| *index != smallest);
                let others = others.map(|(_, other)| other);
                batch.ordinals = search.retain_all(others, batch.ordinals).await?;
                match search.next_if_empty(&batch) {
                    Some(next) => from = next,
                    None => return Ok(batch),
                }
            }
        })
    }

    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members> {
        Box::pin(search.retain_all(self.parts.iter(), ordinals))
    }

    fn sized(&self, sizes: &Sizes) -> Option<NodeRef> {
        let parts = self.parts.iter().map(|part| part.sized(sizes)).collect::<Option<_>>()?;
        Leapfrog::of(parts)
    }

    fn size_max(&self) -> u64 {
        self.parts.iter().map(|part| part.size_max()).min().unwrap_or(0)
    }

    fn estimate(&self, list_size: u64) -> u64 {
        estimate_all(self.parts.iter(), list_size)
    }

    fn posting_lists(&self, lists: &mut Vec<PostingList>) {
        self.parts.iter().for_each(|part| part.posting_lists(lists));
    }

    fn outline(&self) -> Outline {
        let all = Combination::All(ReadOrder::Seeking);
        Outline::combine(all, self.parts.iter().map(|part| part.outline()).collect())
    }
}
