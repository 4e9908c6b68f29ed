//! Along the ordinals, for lists in order of creation: matches are found in the order of the list.

use keyloom_store::Direction;

use crate::bound::PageBound;
use crate::fetch::BATCH_MAX;
use crate::list_part::Entry;
use crate::list_scan::ListScan;
use crate::nodes::NodeRef;
use crate::ordinal::OrdinalKey;
use crate::visible::{ATTEMPTS_MAX, Verdict};
use crate::{End, Error};

/// The matches of a list that is in order of creation.
#[derive(Clone, Debug)]
pub(crate) struct AlongOrdinals {
    pub(crate) node: NodeRef,
}

impl AlongOrdinals {
    pub(super) async fn run(
        &self,
        scan: &mut ListScan<'_>,
        begin: Option<&PageBound>,
    ) -> Result<End, Error> {
        let from = match begin {
            None => Some(scan.search().start()),
            Some(bound) => bound.ordinal_beyond(scan.part.direction),
        };
        let Some(mut from) = from else { return Ok(End::Exhausted) };
        loop {
            let batch = scan.search().next(&*self.node, from).await?;
            let next = scan.search().next_after(&batch);
            let mut left = batch.ordinals.along(scan.part.direction).peekable();
            while left.peek().is_some() {
                let count = scan.wanted().min(BATCH_MAX);
                let some: Vec<u64> = left.by_ref().take(count).collect();
                if !fetch_ordinals(scan, &some).await? {
                    return Ok(End::Budget);
                }
                let more = left.peek().copied();
                if scan.wanted() == 0 {
                    let follower = match more {
                        Some(ordinal) => Some(ordinal),
                        None => self.first_from(scan, next).await?,
                    };
                    let behind = |ordinal| PageBound::behind_ordinal(ordinal, scan.part.direction);
                    scan.follower = follower.map(behind);
                    return Ok(if follower.is_some() { End::Limit } else { End::Exhausted });
                }
                if scan.is_spent() && (more.is_some() || next.is_some()) {
                    return Ok(End::Budget);
                }
            }
            let (Some(next), Some(through)) = (next, batch.through) else {
                return Ok(End::Exhausted);
            };
            from = next;
            scan.pass_bound(PageBound::behind_ordinal(through, scan.part.direction));
            if scan.is_spent() {
                return Ok(End::Budget);
            }
        }
    }

    /// The first match from an ordinal on. If the budget is spent before that is known, there may be one
    /// where the search has ended.
    async fn first_from(
        &self,
        scan: &mut ListScan<'_>,
        from: Option<u64>,
    ) -> Result<Option<u64>, Error> {
        let (direction, mut from) = (scan.part.direction, from);
        let mut search = scan.search();
        while let Some(start) = from {
            let batch = search.next(&*self.node, start).await?;
            let first = batch.ordinals.along(direction).next();
            if first.is_some() || search.is_spent() {
                return Ok(first.or(Some(start)));
            }
            from = search.next_after(&batch);
        }
        Ok(None)
    }
}

/// Fetches the entities with these ordinals, in this order, in one call; false if not all were fetched,
/// none if the store cannot.
async fn fetch_at_once(scan: &mut ListScan<'_>, ordinals: &[u64]) -> Result<Option<bool>, Error> {
    for _ in 0..ATTEMPTS_MAX {
        let (how, by) = ((scan.part.direction, scan.bytes_left()), scan.ordinals());
        let Some(read) = by.items(ordinals, how, &mut scan.state.cost).await? else {
            return Ok(None);
        };
        let last = read.items.last().map(|(position, _)| position.clone());
        let listed = read.items.into_iter().filter(|(position, row)| scan.part.has(row, position));
        let rows = listed.map(|(_, row)| row).collect();
        if scan.decide(rows).await? == Verdict::ReadAgain {
            continue;
        }
        match (last, ordinals.last()) {
            (Some(last), _) => scan.pass(last),
            // Entities that are gone are decided on too.
            (None, Some(last)) => {
                scan.pass_bound(PageBound::behind_ordinal(*last, scan.part.direction));
            }
            (None, None) => {}
        }
        return Ok(Some(read.is_complete));
    }
    Err(Error::Unanswered { rows: ordinals.len() })
}

/// Fetches the entities with these ordinals, in this order; false if not all were fetched.
async fn fetch_ordinals(scan: &mut ListScan<'_>, ordinals: &[u64]) -> Result<bool, Error> {
    if let Some(is_complete) = fetch_at_once(scan, ordinals).await? {
        return Ok(is_complete);
    }
    let mut ascending = ordinals.to_vec();
    ascending.sort_unstable();
    let mut keys = scan.ordinals().keys(&ascending, &mut scan.state.cost).await?;
    if scan.part.direction == Direction::Backward {
        keys.reverse();
    }
    let entry = |OrdinalKey { position, key }| Entry { position, key };
    let entries: Vec<Entry> = keys.into_iter().map(entry).collect();
    for batch in entries.chunks(BATCH_MAX) {
        if scan.fetch(batch).await? < batch.len() {
            return Ok(false);
        }
    }
    // Entities that are gone are decided on too.
    if let Some(last) = ordinals.last().filter(|_| entries.is_empty()) {
        scan.pass_bound(PageBound::behind_ordinal(*last, scan.part.direction));
    }
    Ok(true)
}
