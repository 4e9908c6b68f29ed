//! The first part of a verification: rows, a page of them in a step. What each row is decides how it
//! is verified.

use futures_util::future::try_join_all;
use keyloom_model::RowName;
use keyloom_model::attribute::{OWNER, PARTITION, VERSION};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::Scan;
use keyloom_value::{Item, Value};

use super::entity::EntityCheck;
use super::expected::PageRow;
use super::findings::{Findings, show_key};
use super::position::At;
use super::postings::check_row;
use super::seen::Seen;
use super::step::Step;
use super::{Checked, Problem, Repair, counters, derived};
use crate::bulk::BulkRecord;
use crate::error::Error;
use crate::events::{Checkpoint, Lane, Worker, overflow};
use crate::write::IdempotencyRecord;

/// The number of rows to read in one step.
const PAGE_ROWS: u32 = 500;

/// Verifies the rows after a key.
pub(super) async fn check_page<'a>(
    step: &Step<'a>,
    start: Option<Item>,
) -> Result<Checked<'a>, Error> {
    let mut scan = Scan::new(step.table());
    scan.limit = Some(PAGE_ROWS);
    scan.start = start;
    let page = step.shared.store.scan(scan).await?;
    let rows: Vec<PageRow<'_>> = page.items.iter().map(|item| step.expected().row(item)).collect();
    let mut findings = step.findings();
    let seen = Seen::read(step, &rows, &mut findings).await?;
    for together in rows.chunks(together(step.repair)) {
        let found = together.iter().map(|row| check(step, row, &seen));
        try_join_all(found).await?.into_iter().for_each(|found| findings.append(found));
    }
    let next = page.last_key.map(|key| At::Rows(Some(key)));
    Ok(Checked { findings, rows: page.scanned, next })
}

/// How many rows are verified at once. Repairs follow each other: two of them can concern the same
/// row.
fn together(repair: Repair) -> usize {
    match repair {
        Repair::No => 16,
        Repair::Yes => 1,
    }
}

async fn check<'a>(step: &Step<'a>, row: &PageRow<'_>, seen: &Seen) -> Result<Findings<'a>, Error> {
    let (PageRow { item, name, entity }, mut findings) = (row, step.findings());
    match name {
        Some(RowName::System) => {
            if is_damaged(item) {
                let problem = Problem::Stray { row: show_key(item) };
                findings.of_row(problem, step.repair.for_a_person());
            }
            check_row(step, item, seen, &mut findings).await?;
        }
        Some(RowName::Own(key)) => match entity {
            Some(Ok(implying)) => {
                let entity = EntityCheck { step, row: item, implying, seen };
                entity.run(&mut findings).await?;
            }
            Some(Err(problem)) => {
                findings.of_entity(key, problem.clone(), step.repair.for_a_person());
            }
            None => {}
        },
        Some(
            RowName::Guard { .. }
            | RowName::Link { .. }
            | RowName::Presence { .. }
            | RowName::Posting { .. },
        ) => derived::check(step, item, seen, &mut findings).await?,
        // Counters are verified together.
        Some(RowName::Counter(_)) => {}
        None if counters::is_zero(item) => counters::forget_zero(step, item).await?,
        None => check_unknown(step, item, &mut findings).await?,
    }
    Ok(findings)
}

async fn check_unknown(
    step: &Step<'_>,
    row: &Item,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    // Entities that the model does not know are still data.
    let remedy = match row.contains(VERSION) && !row.contains(OWNER) {
        true => step.repair.for_a_person(),
        false => derived::remove(step, row).await?,
    };
    findings.of_row(Problem::Stray { row: show_key(row) }, remedy);
    Ok(())
}

/// Whether a system row is invalid. Removing it could cancel a deletion that was applied, or apply
/// idempotent changes twice.
fn is_damaged(row: &Item) -> bool {
    let partition = row.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
    let is_deletion = partition == deletion_key("").partition.as_bytes();
    is_deletion && DeletionState::read(row).is_err()
        || IdempotencyRecord::is_at(partition) && IdempotencyRecord::read(row).is_none()
        || Checkpoint::is_at(partition) && Checkpoint::read(row).is_none()
        || Lane::is_at(partition) && Lane::read(row).is_none()
        || overflow::is_at(partition) && overflow::read(row).is_none()
        || Worker::is_at(partition) && Worker::read(row).is_none()
        || BulkRecord::is_at(partition) && BulkRecord::read(row).is_none()
}
