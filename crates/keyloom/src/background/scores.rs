//! Settles leaderboards that have shards: moves what writes have left as changes of scores into the
//! scores, with their entries and prefix counts.
//!
//! A move is one transaction that takes from the changes what it adds to the score, on condition that
//! all of them are as they were read. So the sum of both never changes, whoever moves what, and several
//! processes may settle one board. Each move gives the score another stamp: who reads the score before
//! and after its changes, and finds the same stamp, has missed no move. A lease keeps processes from
//! competing for the same rows. Keys alone say
//! what to do, so that boards which the model no longer has are settled too.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::future::try_join_all;
use keyloom_model::attribute::{COUNT, SORT};
use keyloom_model::{Amount, Counter, LeaderboardKeys, RowKey};
use keyloom_store::{Delete, Error as StoreError, Get, TransactAction, TransactWrite};
use keyloom_value::{Condition, Item, KeyBytes, Path, Value};

use super::lease::{Held, Lease};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::shared::Shared;
use crate::system_rows::{delete_if, system_rows};
use crate::write::{ACTIONS_MAX, Attempts, RankedChange, add_all, amount_of, forget_registered};

const LEASE: &str = "scores";
/// How many scores are read at once, of which as many are moved as a transaction has room for.
const SCORES_MAX: usize = 32;
/// How long to wait before looking at boards again if nothing had changed: from the first time on,
/// doubled each time.
const IDLE_MIN_MS: i64 = 2_000;
const IDLE_MAX_MS: i64 = 30_000;

/// When this process looks for changes of scores again that others have left.
#[derive(Debug, Default)]
pub(crate) struct Settling {
    idle_until_ms: AtomicI64,
    idle_ms: AtomicI64,
}

/// The changes of one score.
struct ScoreChange {
    score: Counter,
    /// By shard: the row, and what it holds.
    changes: Vec<(RowKey, i64)>,
}

/// What one transaction moves.
#[derive(Default)]
struct Moves {
    actions: Vec<TransactAction>,
    prefix_counts: BTreeMap<RowKey, Amount>,
    count: usize,
}

impl Db {
    /// Moves changes of scores into leaderboards that have shards, where the store is shared; returns
    /// how many scores changed. Until then, the places on these boards are those of before. Call it
    /// every few seconds; servers do. Dropping the future stops it; the next call continues.
    ///
    /// [`Db::fold`] has an example.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn settle_scores(&self) -> Answer<'_, u64> {
        Box::pin(settle_scores(&self.shared))
    }
}

async fn settle_scores(shared: &Shared) -> Result<u64, Error> {
    if !shared.schema().layouts.has_settled_boards() {
        return Ok(0);
    }
    let (now_ms, has_work) = (shared.now_ms(), shared.boards.take_work());
    if !has_work && shared.settling.is_idle(now_ms) {
        return Ok(0);
    }
    let rows = registered(shared).await?;
    let (mut count, mut failure) = (0, None);
    for shards in boards(&rows) {
        // Taken again for each: there can be many boards.
        if Lease::new(shared, LEASE).take().await? == Held::No {
            break;
        }
        match settle_board(shared, shards).await {
            Ok(moved) => count += moved,
            // The next call goes on.
            Err(Error::Contended) => {}
            // A board that cannot be settled does not hold up the others.
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    shared.settling.rest(now_ms, count > 0 || has_work);
    failure.map_or(Ok(count), Err)
}

/// Settles everything that was left before this call, until nothing is found: another process may have
/// been at it.
pub(crate) async fn settle_all(shared: &Shared) -> Result<(), Error> {
    loop {
        let mut count = 0;
        for shards in boards(&registered(shared).await?) {
            count += settle_board(shared, shards).await?;
        }
        if count == 0 {
            return Ok(());
        }
    }
}

/// The rows of the registry: one for each shard of each board.
async fn registered(shared: &Shared) -> Result<Vec<Item>, Error> {
    system_rows(&*shared.store, &shared.table, LeaderboardKeys::settled()).await
}

/// The rows of each board.
fn boards(rows: &[Item]) -> impl Iterator<Item = &[Item]> {
    rows.chunk_by(|left, right| board_of(left) == board_of(right))
}

impl Settling {
    fn is_idle(&self, now_ms: i64) -> bool {
        now_ms < self.idle_until_ms.load(Ordering::Relaxed)
    }

    fn rest(&self, now_ms: i64, is_busy: bool) {
        let idle_ms = match is_busy {
            true => 0,
            false => (self.idle_ms.load(Ordering::Relaxed) * 2).clamp(IDLE_MIN_MS, IDLE_MAX_MS),
        };
        self.idle_ms.store(idle_ms, Ordering::Relaxed);
        self.idle_until_ms.store(now_ms.saturating_add(idle_ms), Ordering::Relaxed);
    }
}

/// The board that a row of the registry is about: its key without the shard.
fn board_of(row: &Item) -> Vec<Value> {
    let sort = row.get(SORT).and_then(Value::as_b).unwrap_or_default();
    let mut parts = KeyBytes::decode(sort).unwrap_or_default();
    parts.pop();
    parts
}

/// Settles one board, given the rows of the registry for its shards. Returns how many scores changed.
async fn settle_board(shared: &Shared, shards: &[Item]) -> Result<u64, Error> {
    let mut found: BTreeMap<Counter, Vec<(RowKey, i64)>> = BTreeMap::new();
    let read = shards.iter().map(|shard| changes_of(shared, shard));
    for (change, by) in try_join_all(read).await?.into_iter().flatten() {
        match change.changed() {
            Some(score) if by != 0 => {
                found.entry(score).or_default().push((change.key().clone(), by));
            }
            Some(_) | None => delete_if(&*shared.store, with_row(shared, change.key(), 0)).await?,
        }
    }
    let changes = found.into_iter().map(|(score, changes)| ScoreChange { score, changes });
    move_all(shared, changes.collect()).await
}

/// Reads the changes of a shard. A row of the registry without any is removed after a while.
async fn changes_of(shared: &Shared, shard: &Item) -> Result<Vec<(Counter, i64)>, Error> {
    let sort = shard.get(SORT).and_then(Value::as_b).unwrap_or_default();
    let Some(partition) = LeaderboardKeys::read_settled(sort) else { return Ok(vec![]) };
    let rows = system_rows(&*shared.store, &shared.table, partition.clone()).await?;
    if rows.is_empty() {
        forget_registered(&*shared.store, &shared.table, shard, shared.now_ms()).await?;
    }
    let change = |row: &Item| {
        let change = LeaderboardKeys::read_change(&partition, row.get(SORT)?.as_b()?)?;
        Some((change, Counter::value_of(row)?))
    };
    let wrong = || Error::damaged("A change of a score cannot be read.");
    rows.iter().map(|row| change(row).ok_or_else(wrong)).collect()
}

/// Moves changes into their scores, as many in one transaction as fit; those of scores in a crowd one by
/// one.
async fn move_all(shared: &Shared, mut left: VecDeque<ScoreChange>) -> Result<u64, Error> {
    let (mut count, mut contended) = (0, None);
    while !left.is_empty() {
        let moves = next_moves(shared, &left).await?;
        let moved: Vec<ScoreChange> = left.drain(..moves.count.min(left.len())).collect();
        match shared.store.transact_write(moves.into_transaction(shared)?).await {
            Ok(()) => count += moved.len() as u64,
            // A score or a change is not what was read, or another transaction was in progress.
            Err(StoreError::Canceled { .. }) => {
                for ScoreChange { score, changes } in &moved {
                    match move_apart(shared, score, changes).await {
                        Ok(()) => count += 1,
                        // The others are not held up.
                        Err(Error::Contended) => contended = Some(Error::Contended),
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    contended.map_or(Ok(count), Err)
}

/// Moves the changes of one score, each in a transaction of its own and as it is then: in a crowd, no
/// transaction finds all of them at rest.
async fn move_apart(
    shared: &Shared,
    score: &Counter,
    changes: &[(RowKey, i64)],
) -> Result<(), Error> {
    for (key, _) in changes {
        let mut attempts = Attempts::new(&shared.stamps);
        loop {
            attempts.next().await?;
            // Writers of this process wait meanwhile.
            let turn = [key.partition.as_bytes().to_vec()];
            let _turn = shared.turns.take(&turn, shared.stamps.clock()).await?;
            let change = shared.store.get(Get::new(&shared.table, key.to_item())).await?;
            let by = change.as_ref().and_then(Counter::value_of).unwrap_or(0);
            if by == 0 {
                break;
            }
            let changes = vec![(key.clone(), by)];
            let left = VecDeque::from([ScoreChange { score: score.clone(), changes }]);
            let moves = next_moves(shared, &left).await?;
            match shared.store.transact_write(moves.into_transaction(shared)?).await {
                Ok(()) => break,
                Err(StoreError::Canceled { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// Plans as many moves as fit into a transaction; at least one.
async fn next_moves(shared: &Shared, left: &VecDeque<ScoreChange>) -> Result<Moves, Error> {
    let some: Vec<&ScoreChange> = left.iter().take(SCORES_MAX).collect();
    let read = |change: &&ScoreChange| {
        shared.store.get(Get::new(&shared.table, change.score.key().to_item()))
    };
    let rows = try_join_all(some.iter().map(read)).await?;
    let stamp = shared.stamps.next()?;
    let mut moves = Moves::default();
    for (change, row) in some.into_iter().zip(rows) {
        let mut more = moves.prefix_counts.clone();
        let before = amount_of(row.as_ref())?;
        let by: i64 = change.changes.iter().map(|(_, by)| by).sum();
        let (counter, row) = (&change.score, row.as_ref());
        let after = Amount::from(before.count + by);
        let ranked = RankedChange { counter, row, before, after };
        ranked.add_prefix_counts(&mut more);
        let rows = moves.actions.len() + 1 + change.changes.len() + more.len();
        if moves.count > 0 && rows > ACTIONS_MAX {
            break;
        }
        moves.actions.push(ranked.settle(&shared.table, &stamp)?);
        let taken = change.changes.iter().map(|(key, by)| with_row(shared, key, *by));
        moves.actions.extend(taken.map(TransactAction::Delete));
        moves.prefix_counts = more;
        moves.count += 1;
    }
    Ok(moves)
}

impl Moves {
    fn into_transaction(self, shared: &Shared) -> Result<TransactWrite, Error> {
        let mut actions = self.actions;
        actions.extend(add_all(&shared.table, self.prefix_counts)?);
        Ok(TransactWrite::new(actions))
    }
}

/// Takes a change with its row, if nothing was added to it since it was read.
fn with_row(shared: &Shared, key: &RowKey, by: i64) -> Delete {
    let unchanged = Condition::equal(Path::from(COUNT), Value::from(by));
    Delete::new(&shared.table, key.to_item()).when(unchanged)
}
