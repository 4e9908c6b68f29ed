//! Along the list, fetching each entity. The only strategy without posting lists.

use keyloom_store::ItemsPage;
use keyloom_value::Item;

use crate::fetch::BATCH_MAX;
use crate::list_part::Entry;
use crate::list_scan::ListScan;
use crate::visible::{ATTEMPTS_MAX, Verdict};
use crate::{End, Error};

/// Whether more can follow what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    Maybe,
}

pub(super) async fn run(scan: &mut ListScan<'_>) -> Result<End, Error> {
    loop {
        if step(scan).await? == Rest::Nothing {
            return Ok(End::Exhausted);
        }
        if scan.wanted() == 0 {
            return look_ahead(scan).await;
        }
        if scan.is_spent() {
            return Ok(End::Budget);
        }
    }
}

/// Finds out whether a full page is the last. What follows in the list may not pass the filter, so
/// it reads until something does; the next page still begins behind this one.
async fn look_ahead(scan: &mut ListScan<'_>) -> Result<End, Error> {
    if scan.request.filter.is_none() {
        return Ok(End::Limit);
    }
    let page = scan.begin_ahead();
    let mut end = End::Limit;
    while scan.wanted() > 0 && !scan.is_spent() {
        if step(scan).await? == Rest::Nothing && scan.wanted() > 0 {
            end = End::Exhausted;
            break;
        }
    }
    scan.end_ahead(page);
    Ok(end)
}

/// Reads index rows and the entities they lead to in one call; none if the store cannot.
async fn step_at_once(scan: &mut ListScan<'_>, wanted: usize) -> Result<Option<Rest>, Error> {
    for _ in 0..ATTEMPTS_MAX {
        let Some(ItemsPage { items, next, .. }) = scan.items(wanted).await? else {
            return Ok(None);
        };
        let position = |row: &Item| Ok::<_, Error>(scan.part.position(row)?.to_vec());
        let last = items.last().map(position).transpose()?;
        let follower = next.as_ref().map(position).transpose()?;
        if scan.decide(items).await? == Verdict::ReadAgain {
            continue;
        }
        if let Some(last) = last {
            scan.pass(last);
        }
        scan.follower = follower.map(|position| scan.behind(position));
        return Ok(Some(if next.is_some() { Rest::Maybe } else { Rest::Nothing }));
    }
    Err(Error::Unanswered { rows: wanted })
}

/// Reads one page of the index and the entities it leads to.
async fn step(scan: &mut ListScan<'_>) -> Result<Rest, Error> {
    // An entity costs two rows: one of the index and its own.
    let affordable = scan.request.budget.rows.saturating_sub(scan.state.cost.rows) / 2;
    let affordable = usize::try_from(affordable).unwrap_or(usize::MAX).max(1);
    let wanted = scan.wanted().min(affordable);
    if let Some(rest) = step_at_once(scan, wanted).await? {
        return Ok(rest);
    }
    // One more, to know whether more follow.
    let page = scan.page(wanted + 1).await?;
    let rest = match page.last {
        None if page.items.len() <= wanted => Rest::Nothing,
        None | Some(_) => Rest::Maybe,
    };
    let beyond = page.items.get(wanted).and_then(|row| scan.part.position(row).ok());
    scan.follower = beyond.map(|position| scan.behind(position.to_vec()));
    let entries = page.items.into_iter().take(wanted).map(|row| scan.part.entry(row));
    let entries = entries.collect::<Result<Vec<Entry>, Error>>()?;
    if let (true, Some(last)) = (entries.is_empty(), page.last) {
        scan.pass(last);
    }
    for batch in entries.chunks(BATCH_MAX) {
        let is_enough = scan.state.cost.bytes >= scan.request.budget.bytes;
        if is_enough && scan.end.is_some() {
            return Ok(Rest::Maybe);
        }
        if scan.fetch(batch).await? < batch.len() {
            return Ok(Rest::Maybe);
        }
    }
    Ok(rest)
}
