//! The last part of a verification: recounts all counters, in one snapshot or with the change feed.
//! Every write changes counters together with entities, so a difference at one moment is a difference
//! at any other: a repair is the same whenever it is written, and is written if the counter is
//! unchanged.

use std::collections::BTreeMap;

use keyloom_model::attribute::{COUNT, PARTITION};
use keyloom_model::{Amount, Counter, is_counter};
use keyloom_store::{Delete, Read, Scan, TransactAction};
use keyloom_value::{Condition, Item, Path, Value};

use super::findings::{Findings, show_key};
use super::position::At;
use super::recount::{Counted, Recount};
use super::replay::Replay;
use super::step::Step;
use super::{Checked, Problem, Remedy};
use crate::error::Error;
use crate::system_rows::key_of;
use crate::write::{RankedChange, add_all};

/// Where the verification of counters starts, if there are any.
pub(super) fn first(step: &Step<'_>) -> Option<At> {
    step.expected().has_counters().then_some(At::Counters(0))
}

/// Verifies the counters from a hash on.
pub(super) async fn check_part<'a>(step: &Step<'a>, from: u64) -> Result<Checked<'a>, Error> {
    let mut findings = step.findings();
    let recount = match step.shared.store.snapshot().await {
        Err(keyloom_store::Error::Unsupported { .. }) => {
            Replay { step }.run(from, &mut findings).await?
        }
        snapshot => recount_in(step, &*snapshot?, from).await?,
    };
    // Prefix counts before scores: the repair of a score adds to its prefix counts.
    for (counter, counted) in &recount.counters {
        check(step, counter, counted, &mut findings).await?;
    }
    let next = recount.to.checked_add(1).map(At::Counters);
    Ok(Checked { findings, rows: 0, next })
}

/// Recounts counters from a hash on, in a snapshot.
async fn recount_in<'a>(
    step: &Step<'a>,
    snapshot: &dyn Read,
    from: u64,
) -> Result<Recount<'a>, Error> {
    let mut recount = Recount::at_once(step.expected(), from);
    let mut scan = Scan::new(step.table());
    loop {
        let page = snapshot.scan(scan.clone()).await?;
        page.items.into_iter().for_each(|row| recount.row(row));
        match page.last_key {
            None => return Ok(recount),
            start => scan.start = start,
        }
    }
}

async fn check(
    step: &Step<'_>,
    counter: &Counter,
    Counted { expected, found, .. }: &Counted,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    if counter.has_row(found.as_ref(), expected) {
        return Ok(());
    }
    let number = found.as_ref().and_then(Counter::value_of);
    if let (0, Some(0), Some(row)) = (expected.count, number, found) {
        return forget_zero(step, row).await;
    }
    let remedy = rewrite(step, counter, found.as_ref(), expected).await?;
    let row = show_key(&counter.key().to_item());
    findings.of_row(Problem::WrongNumber { row, expected: expected.count, found: number }, remedy);
    Ok(())
}

async fn rewrite(
    step: &Step<'_>,
    counter: &Counter,
    found: Option<&Item>,
    expected: &Amount,
) -> Result<Remedy, Error> {
    let mut prefix_counts = BTreeMap::new();
    let before = found.and_then(Amount::of_row).unwrap_or_default();
    let ranked = RankedChange { counter, row: found, before, after: expected.clone() };
    ranked.add_prefix_counts(&mut prefix_counts);
    let mut actions = vec![ranked.rewrite(step.table())?];
    actions.extend(add_all(step.table(), prefix_counts)?);
    step.repair(actions).await
}

/// Whether a row is a counter that is 0, which may remain, even of a count that no longer exists.
pub(super) fn is_zero(row: &Item) -> bool {
    let partition = row.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
    is_counter(partition) && Counter::value_of(row) == Some(0)
}

/// Removes a counter that is 0, if repair is requested. It is no finding.
pub(super) async fn forget_zero(step: &Step<'_>, row: &Item) -> Result<(), Error> {
    let zero = Condition::equal(Path::from(COUNT), Value::from(0));
    let delete = Delete::new(step.table(), key_of(row)).when(zero);
    step.repair(vec![TransactAction::Delete(delete)]).await.map(drop)
}
