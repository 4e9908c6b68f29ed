//! Writes rows that a copy has computed, in several lanes at once. Every transaction checks the position
//! of a stream of its own, so lanes do not conflict, and nothing is written once the copy has ended.

use futures_util::future::try_join_all;
use keyloom_store::{CancelReason, Error as StoreError, Put, TransactAction, TransactWrite};
use keyloom_value::Item;

use super::position::{StreamPosition, ended_elsewhere};
use crate::error::Error;
use crate::shared::Shared;
use crate::write::{ACTIONS_MAX, Attempts, BYTES_MAX};

/// Puts rows, in transactions of many, in so many lanes.
pub(super) async fn put_all(shared: &Shared, lanes: u32, rows: Vec<Item>) -> Result<(), Error> {
    let batches = batches(rows);
    let lane = |lane: u32| {
        let mine = batches.iter().skip(lane as usize).step_by(lanes.max(1) as usize);
        async move {
            for batch in mine {
                put(shared, lane, batch).await?;
            }
            Ok::<(), Error>(())
        }
    };
    try_join_all((0..lanes.max(1)).map(lane)).await?;
    Ok(())
}

/// Splits rows into batches that each fit into a transaction with one other action.
fn batches(rows: Vec<Item>) -> Vec<Vec<Item>> {
    let (mut batches, mut bytes) = (vec![vec![]], 0);
    for row in rows {
        bytes += row.size();
        let is_full = |batch: &Vec<Item>| batch.len() + 1 >= ACTIONS_MAX || bytes >= BYTES_MAX;
        if batches.last().is_some_and(is_full) {
            bytes = row.size();
            batches.push(vec![]);
        }
        if let Some(last) = batches.last_mut() {
            last.push(row);
        }
    }
    batches
}

/// Puts one batch. That it may be put twice does not matter.
async fn put(shared: &Shared, lane: u32, rows: &[Item]) -> Result<(), Error> {
    let mut attempts = Attempts::new(&shared.stamps);
    loop {
        attempts.next().await?;
        let put = |row: &Item| TransactAction::Put(Put::new(&shared.table, row.clone()));
        let mut actions: Vec<TransactAction> = rows.iter().map(put).collect();
        actions.push(StreamPosition::check_ended(&shared.table, lane));
        match shared.store.transact_write(TransactWrite::new(actions)).await {
            Ok(()) => return Ok(()),
            Err(StoreError::Unanswered(_)) => {}
            Err(StoreError::Canceled { reasons }) => {
                match reasons.into_iter().flatten().next() {
                    // Another transaction was in progress.
                    None => {}
                    Some(CancelReason::ConditionFailed { .. }) => return Err(ended_elsewhere()),
                    Some(reason) => return Err(StoreError::from(reason).into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}
