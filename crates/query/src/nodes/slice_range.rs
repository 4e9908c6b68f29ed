//! The values of a field within a range, found by their bits: goes through the slices of the field
//! from the most significant bit on, and keeps apart those whose bits are still those of a bound. A
//! slice is read only where there are such. What is in the range of a whole chunk is remembered: counts
//! of values ask again for each value.

use keyloom_model::SliceBits;
use keyloom_store::{Direction, Members, ReadSet};

use super::{Batch, Found, Node, NodeRef, Outline, PostingSet, Search, Sizes};
use crate::Error;
use crate::posting_list::PostingList;
use crate::value_range::SliceBounds;

/// Of so many ordinals in a chunk, the whole chunk is decided on.
const MANY: u64 = 16;

/// What has a value of a field within a range.
#[derive(Clone, Debug)]
pub(crate) struct SliceRange {
    /// What has a value.
    present: NodeRef,
    /// The entities of each slice, up to the last bit that a bound has; none if there are none.
    slices: Vec<Option<NodeRef>>,
    bounds: SliceBounds,
    /// The range, for people.
    text: String,
}

impl SliceRange {
    /// `slices` are the lists of the first [`SliceBounds::slices`] slices.
    pub(crate) fn new(
        present: PostingList,
        slices: Vec<PostingList>,
        bounds: SliceBounds,
        text: String,
    ) -> SliceRange {
        debug_assert_eq!(slices.len(), usize::from(bounds.slices()), "{text}");
        let read = |list| PostingSet::new(list, Sizes::UNKNOWN).shared();
        let slices = slices.into_iter().map(|list| Some(read(list))).collect();
        SliceRange { present: read(present), slices, bounds, text }
    }

    /// Returns which of some ordinals, which all have a value, are within the bounds.
    async fn within(&self, search: &mut Search<'_>, ordinals: Members) -> Result<Members, Error> {
        let (mut left, mut kept) = (ordinals, Members::default());
        while let Some(first) = left.first() {
            let chunk = first / ReadSet::CHUNK_ORDINALS;
            let end = first | (ReadSet::CHUNK_ORDINALS - 1);
            let mut of_chunk = left.clone();
            of_chunk.keep(first..=end);
            left.and_not(&of_chunk);
            let known = match search.view.in_range(&self.text, chunk).cloned() {
                None if of_chunk.len() >= MANY => Some(self.whole_chunk(search, chunk).await?),
                known => known,
            };
            match known {
                Some(within) => of_chunk.and(&within),
                None => of_chunk = self.narrow(search, of_chunk).await?,
            }
            kept.or(&of_chunk);
        }
        Ok(kept)
    }

    /// Decides on a whole chunk, in which something has a value, and remembers what is within the bounds.
    async fn whole_chunk(&self, search: &mut Search<'_>, chunk: u64) -> Result<Members, Error> {
        let first = chunk * ReadSet::CHUNK_ORDINALS;
        let from = match search.direction {
            Direction::Forward => first,
            Direction::Backward => first | (ReadSet::CHUNK_ORDINALS - 1),
        };
        let mut present = search.next(&*self.present, from).await?.ordinals;
        present.keep(first..=first | (ReadSet::CHUNK_ORDINALS - 1));
        let within = self.narrow(search, present).await?;
        search.view.remember_range(&self.text, chunk, within.clone());
        Ok(within)
    }

    /// The same as `within`, of ordinals in one chunk.
    async fn narrow(&self, search: &mut Search<'_>, ordinals: Members) -> Result<Members, Error> {
        let mut narrowing = Narrowing::new(ordinals, self.bounds);
        for (number, slice) in (0..).zip(&self.slices) {
            let open = narrowing.open(number);
            if open.is_empty() {
                break;
            }
            let members = match slice {
                Some(slice) => search.retain(&**slice, open.clone()).await?,
                None => Members::default(),
            };
            narrowing.take(
                number,
                match SliceBits::is_inverted(number) {
                    true => without(open, &members),
                    false => members,
                },
            );
        }
        Ok(narrowing.end())
    }

    /// The share of values that are at or beyond a bound, if bits are independent.
    fn share_from(&self, bound: SliceBits) -> f64 {
        let present = self.present.size_max().max(1) as f64;
        let slices = (0..bound.significant()).zip(&self.slices).rev();
        slices.fold(1.0, |share, (number, slice)| {
            let members = slice.as_ref().map_or(0, |slice| slice.size_max()) as f64;
            let ones = match SliceBits::is_inverted(number) {
                true => 1.0 - (members / present).min(1.0),
                false => (members / present).min(1.0),
            };
            if bound.get(number) { ones * share } else { ones + (1.0 - ones) * share }
        })
    }
}

/// Ordinals on their way through the slices.
struct Narrowing {
    kept: Members,
    /// Those whose bits so far are those of the lower bound, and of the upper bound.
    lower: Members,
    upper: Members,
    bounds: SliceBounds,
}

impl Narrowing {
    fn new(ordinals: Members, bounds: SliceBounds) -> Narrowing {
        let open = |bound: Option<SliceBits>| bound.map(|_| ordinals.clone()).unwrap_or_default();
        Narrowing { lower: open(bounds.from), upper: open(bounds.to), kept: ordinals, bounds }
    }

    /// The ordinals that the slices from this one on decide on.
    fn open(&mut self, slice: u16) -> Members {
        let is_over =
            |bound: Option<SliceBits>| bound.is_none_or(|bits| bits.significant() <= slice);
        // All that is left of a bound is zeros: no bits are less.
        if is_over(self.bounds.from) {
            self.lower = Members::default();
        }
        if is_over(self.bounds.to) {
            self.kept.and_not(&std::mem::take(&mut self.upper));
        }
        self.lower.and(&self.kept);
        self.upper.and(&self.kept);
        let mut open = self.lower.clone();
        open.or(&self.upper);
        open
    }

    /// Takes the open ordinals that have the bit of a slice.
    fn take(&mut self, slice: u16, ones: Members) {
        if self.bounds.from.is_some_and(|bits| bits.get(slice)) {
            let less = without(self.lower.clone(), &ones);
            self.kept.and_not(&less);
            self.lower.and(&ones);
        } else {
            self.lower.and_not(&ones);
        }
        if self.bounds.to.is_some_and(|bits| bits.get(slice)) {
            self.upper.and(&ones);
        } else {
            let mut more = self.upper.clone();
            more.and(&ones);
            self.kept.and_not(&more);
            self.upper.and_not(&ones);
        }
    }

    fn end(mut self) -> Members {
        self.open(u16::MAX);
        self.kept
    }
}

fn without(mut ordinals: Members, others: &Members) -> Members {
    ordinals.and_not(others);
    ordinals
}

impl Node for SliceRange {
    fn next<'f>(&'f self, search: &'f mut Search<'_>, mut from: u64) -> Found<'f, Batch> {
        Box::pin(async move {
            loop {
                let mut batch = search.next(&*self.present, from).await?;
                batch.ordinals = self.within(search, batch.ordinals).await?;
                match search.next_if_empty(&batch) {
                    Some(next) => from = next,
                    None => return Ok(batch),
                }
            }
        })
    }

    fn retain<'f>(&'f self, search: &'f mut Search<'_>, ordinals: Members) -> Found<'f, Members> {
        Box::pin(async move {
            let present = search.retain(&*self.present, ordinals).await?;
            self.within(search, present).await
        })
    }

    fn sized(&self, sizes: &Sizes) -> Option<NodeRef> {
        let sized = |slice: &Option<NodeRef>| slice.as_ref().and_then(|slice| slice.sized(sizes));
        let sized = SliceRange {
            present: self.present.sized(sizes)?,
            slices: self.slices.iter().map(sized).collect(),
            ..self.clone()
        };
        Some(sized.shared())
    }

    fn size_max(&self) -> u64 {
        self.present.size_max()
    }

    fn estimate(&self, _list_size: u64) -> u64 {
        let from = self.bounds.from.map_or(1.0, |bound| self.share_from(bound));
        let beyond = self.bounds.to.map_or(0.0, |bound| self.share_from(bound));
        (self.size_max() as f64 * (from - beyond).max(0.0)) as u64
    }

    fn posting_lists(&self, lists: &mut Vec<PostingList>) {
        self.present.posting_lists(lists);
        self.slices.iter().flatten().for_each(|slice| slice.posting_lists(lists));
    }

    fn outline(&self) -> Outline {
        Outline::range(&self.text, self.slices.iter().flatten().count(), self.present.outline())
    }
}
