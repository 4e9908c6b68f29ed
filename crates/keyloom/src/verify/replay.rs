//! Recounting on a store without snapshots.
//!
//! With a change feed, one scan is enough. The position in every shard is noted first, all rows are
//! read, and then the changes since are applied (`recount.rs`), in rounds. A transaction is in several
//! shards, and a round can end between its changes; so a counter counts as known once neither it nor
//! anything that is added to it has changed for several rounds. One that is written all the time is
//! right if it was right at the end of several rounds in a row. The rest could not be checked.
//!
//! Without a feed, all rows are read twice. If every row and every counter is the same both times,
//! nobody has written in between.

use std::time::Duration;

use futures_util::future::try_join_all;
use keyloom_store::{Error as StoreError, Invalid, Scan, Segment};

use super::findings::{Findings, show_key};
use super::recount::{Counted, Known, Recount};
use super::step::Step;
use crate::error::Error;
use crate::events::{Feed, Position};

/// How many parts of the table are scanned at once.
const SEGMENTS: u32 = 8;
/// How many changes of a shard are read at once.
const CHANGES: usize = 500;
/// How long to wait between two rounds of reading the feed: a shard can be read five times a second.
const PAUSE: Duration = Duration::from_millis(300);
/// For how many rounds a counter must rest. Streams of the service are usually behind by less than a
/// second, and return empty pages at times: after so many, what belongs together was read.
const REST_ROUNDS: u32 = 20;
/// After how many rounds counters that never rest are given up.
const ROUNDS_MAX: u32 = 400;

/// A recount without a snapshot.
pub(super) struct Replay<'a> {
    pub(super) step: &'a Step<'a>,
}

impl<'a> Replay<'a> {
    /// Recounts counters from a hash on. What is left in the recount is certain; what could not be
    /// recounted is a finding.
    pub(super) async fn run(
        &self,
        from: u64,
        findings: &mut Findings<'_>,
    ) -> Result<Recount<'a>, Error> {
        let feed = Feed::new(self.step.shared);
        // A store that adds to numbers does not have that in its feed.
        let has_counters = !self.step.shared.store.adds_numbers();
        let position = match feed.newest_position().await {
            Ok(position) if has_counters => position,
            Ok(_) | Err(Error::Store(StoreError::NoFeed { .. })) => {
                return self.twice(from, findings).await;
            }
            Err(error) => return Err(error),
        };
        let mut recount = Recount::one_by_one(self.step.expected(), from);
        self.count_all(&mut recount).await?;
        match self.follow(&mut recount, position).await {
            Ok(()) => {}
            Err(Error::Store(error)) if is_gone(&error) => {
                let reason = "The change feed no longer has what happened since the verification \
                              began: verify again";
                return Ok(none_of(recount, reason, findings));
            }
            Err(error) => return Err(error),
        }
        Ok(without_open(recount, findings))
    }

    /// Reads the feed until every counter is known, or has changed for too long.
    async fn follow(&self, recount: &mut Recount<'_>, mut position: Position) -> Result<(), Error> {
        let feed = Feed::new(self.step.shared);
        for _ in 0..ROUNDS_MAX {
            recount.begin_round();
            let mut has_more = true;
            while has_more {
                let changes = feed.advance(&mut position, CHANGES, |at, _| {
                    recount.change(at.change);
                    Ok(())
                });
                has_more = changes.await?;
            }
            if recount.end_round(REST_ROUNDS) || recount.is_outdated {
                break;
            }
            self.step.shared.clock.sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Recounts without a feed.
    async fn twice(&self, from: u64, findings: &mut Findings<'_>) -> Result<Recount<'a>, Error> {
        let mut first = Recount::one_by_one(self.step.expected(), from);
        self.count_all(&mut first).await?;
        let mut second = first.again();
        self.count_all(&mut second).await?;
        if first.is_outdated || !first.is_same(&second) {
            let reason = "The table has no change feed, and entities have changed meanwhile: enable \
                          the feed (on DynamoDB, a stream with new and old images), or verify while \
                          nothing is written";
            return Ok(none_of(second, reason, findings));
        }
        Ok(second)
    }

    /// Scans the table, several parts at once.
    async fn count_all(&self, recount: &mut Recount<'_>) -> Result<(), Error> {
        let store = &self.step.shared.store;
        let segment = |number| Scan {
            segment: Some(Segment { number, of: SEGMENTS }),
            ..Scan::new(&self.step.shared.table)
        };
        let mut scans: Vec<Scan> = (0..SEGMENTS).map(segment).collect();
        while !scans.is_empty() {
            let pages = try_join_all(scans.iter().map(|scan| store.scan(scan.clone()))).await?;
            let mut rest = vec![];
            for (mut scan, page) in scans.into_iter().zip(pages) {
                page.items.into_iter().for_each(|row| recount.row(row));
                scan.start = page.last_key;
                rest.extend(scan.start.is_some().then_some(scan));
            }
            scans = rest;
        }
        Ok(())
    }
}

/// Takes what is not known out of a recount.
fn without_open<'a>(mut recount: Recount<'a>, findings: &mut Findings<'_>) -> Recount<'a> {
    if recount.is_outdated {
        return none_of(recount, "The model has changed meanwhile: verify again", findings);
    }
    for (counter, counted) in std::mem::take(&mut recount.counters) {
        match counted.known {
            Known::Nothing => {
                let what = format!("the counter {}", show_key(&counter.key().to_item()));
                let reason = "It has changed all the time: verify again when less is written";
                findings.unchecked(what, reason);
            }
            Known::Wrong { expected, found } => {
                recount.counters.insert(counter, Counted::at_rest(expected, found));
            }
            // It can be between two changes of one transaction now.
            Known::Right => {
                if counted.is_right(&counter) {
                    recount.counters.insert(counter, counted);
                }
            }
        }
    }
    recount
}

/// A recount that says nothing, and why. The rest is not tried.
fn none_of<'a>(mut recount: Recount<'a>, reason: &str, findings: &mut Findings<'_>) -> Recount<'a> {
    recount.counters.clear();
    recount.to = u64::MAX;
    findings.unchecked("counts and leaderboards".to_owned(), reason);
    recount
}

/// Whether changes were removed before they were read.
fn is_gone(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::ChangesGone { .. }
            | StoreError::ChangesAhead { .. }
            | StoreError::NoFeed { .. }
            | StoreError::Invalid(Invalid::Shard { .. })
    )
}
