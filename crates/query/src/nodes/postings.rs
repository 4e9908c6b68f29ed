//! What the two forms of a posting list have in common: `retain` reads along the list from one
//! ordinal to the next.

use keyloom_store::Members;

use super::{Batch, Found, Node, Search};
use crate::Error;

/// Rows of a posting list that one request reads, at most.
pub(super) const ROWS_MAX: u32 = 100;

/// A node that reads one posting list.
pub(super) trait Postings: Node {
    /// Reads the list from an ordinal on. A set returns its next chunk; rows return at most
    /// `rows_max` of themselves.
    fn read<'f>(&'f self, search: &'f mut Search<'_>, from: u64, rows_max: u32)
    -> Found<'f, Batch>;
}

/// Returns the given ordinals that are in the list. Each read skips to the next ordinal in
/// question, so a set reads only the chunks that the ordinals are in. Where the list has many rows
/// between two of them, fewer rows are read at once: three for each ordinal, at most.
pub(super) async fn retain(
    postings: &impl Postings,
    search: &mut Search<'_>,
    ordinals: Members,
) -> Result<Members, Error> {
    let (mut left, mut kept) = (ordinals, Members::default());
    let mut rows_max = u64::from(ROWS_MAX);
    while let Some(from) = search.first(&left) {
        let before = left.len();
        let rows = u32::try_from(before.min(rows_max)).unwrap_or(ROWS_MAX);
        let batch = postings.read(search, from, rows).await?;
        let next = search.next_after(&batch);
        let mut found = batch.ordinals;
        found.and(&left);
        kept.or(&found);
        let Some(next) = next else { break };
        search.drop_before(&mut left, next);
        rows_max = before.saturating_sub(left.len()).saturating_mul(2).max(1);
    }
    Ok(kept)
}
