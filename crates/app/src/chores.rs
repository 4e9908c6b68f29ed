//! Background work of every server: large deletions whose clients have disconnected, backfills after a
//! model change, bulk changes, expired entities, deltas of posting lists, scores of leaderboards. The
//! progress of each is stored, so another process can continue it.
//! They run concurrently, so that none waits for a long one.

use std::pin::Pin;
use std::time::Duration;

use keyloom::events::Next;
use keyloom::{Db, Error};
use tokio::task::JoinSet;

use crate::console::print;

/// How long to wait after the first failure; doubled after each further one.
const BACK_OFF: Duration = Duration::from_secs(1);
/// The longest wait after failures.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);
/// How many expired entities are removed at a time.
const EXPIRE_LIMIT: u32 = 1000;

/// All kinds of background work, and how often to check for it.
const CHORES: [Chore; 6] = [
    // Reads nothing unless there may be one.
    Chore { name: "deletions", every: Duration::from_millis(250), run: resume_deletions },
    // Reads nothing unless there may be one.
    Chore { name: "bulk", every: Duration::from_millis(250), run: advance_bulk },
    // Needs no read to check.
    Chore { name: "backfill", every: Duration::from_secs(5), run: backfill },
    Chore { name: "expiry", every: Duration::from_secs(30), run: expire },
    // Reads nothing where the store has sets.
    Chore { name: "folding", every: Duration::from_secs(7), run: fold },
    // Reads nothing unless the model has a board with shards, on a shared store.
    Chore { name: "scores", every: Duration::from_secs(2), run: settle_scores },
];

type Work = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// One kind of background work.
#[derive(Clone, Copy)]
struct Chore {
    name: &'static str,
    every: Duration,
    run: fn(Db) -> Work,
}

/// The running background work.
pub(crate) struct Chores(JoinSet<()>);

impl Chores {
    pub(crate) fn start(db: &Db) -> Chores {
        let mut tasks = JoinSet::new();
        for chore in CHORES {
            tasks.spawn(repeat(db.clone(), chore));
        }
        Chores(tasks)
    }

    /// Stops everything, and returns once nothing holds the database any more.
    pub(crate) async fn stop(mut self) {
        self.0.shutdown().await;
    }
}

async fn repeat(db: Db, chore: Chore) {
    let mut failures = 0;
    loop {
        let rest = match (chore.run)(db.clone()).await {
            Ok(()) => {
                failures = 0;
                chore.every
            }
            Err(error) => {
                let rest = back_off(failures);
                failures += 1;
                let retry_seconds = rest.as_secs();
                tracing::error!(%error, chore.name, retry_seconds, "background work failed");
                rest
            }
        };
        tokio::time::sleep(rest).await;
    }
}

/// How long to wait after a failure that follows `failures` others in a row.
fn back_off(failures: u32) -> Duration {
    BACK_OFF.saturating_mul(1 << failures.min(16)).min(BACK_OFF_MAX)
}

fn resume_deletions(db: Db) -> Work {
    Box::pin(async move { db.resume_deletions().await.map(drop) })
}

/// Ends when nothing is left to do: each step is small.
fn advance_bulk(db: Db) -> Work {
    Box::pin(async move {
        while db.advance_bulk().await? == Next::Now {
            tokio::task::yield_now().await;
        }
        Ok(())
    })
}

fn backfill(db: Db) -> Work {
    Box::pin(async move {
        if db.is_backfill_pending() {
            print(
                "Rebuilding index rows for the changed model; affected lists return 503 until it is done.",
            );
            db.backfill(|_| {}).await?;
            print("Index rows rebuilt.");
        }
        Ok(())
    })
}

fn expire(db: Db) -> Work {
    Box::pin(async move { db.expire(EXPIRE_LIMIT).await.map(drop) })
}

fn fold(db: Db) -> Work {
    Box::pin(async move { db.fold().await.map(drop) })
}

fn settle_scores(db: Db) -> Work {
    Box::pin(async move { db.settle_scores().await.map(drop) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_with_each_failure_up_to_a_maximum() {
        let waits: Vec<u64> = (0..8).map(|failures| back_off(failures).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(back_off(u32::MAX), BACK_OFF_MAX);
    }
}
