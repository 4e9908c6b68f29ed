//! Work of every server that nobody waits for: large deletions whose clients have gone, rows that a
//! changed model needs, entities that have expired. What each has done is kept in the data, so
//! whoever comes next goes on with it. They run beside each other, so that none waits for a long one.

use std::pin::Pin;
use std::time::Duration;

use keyloom::{Db, Error};
use tokio::task::JoinSet;

use crate::console::print;

/// How long to wait after the first failure; after each further one, twice as long.
const BACK_OFF: Duration = Duration::from_secs(1);
/// How long to wait at most.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);
/// How many expired entities are removed at a time.
const EXPIRE_LIMIT: u32 = 1000;

/// What each kind of work is, and how often to look whether there is any.
const CHORES: [Chore; 3] = [
    // Reads nothing if there can be none.
    Chore { name: "deletions", every: Duration::from_millis(250), run: go_on_with_deletions },
    // Known without a read.
    Chore { name: "backfill", every: Duration::from_secs(5), run: backfill },
    Chore { name: "expiry", every: Duration::from_secs(30), run: expire },
];

type Work = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// One kind of work.
#[derive(Clone, Copy)]
struct Chore {
    name: &'static str,
    every: Duration,
    run: fn(Db) -> Work,
}

/// All of it, until it is stopped.
pub(crate) struct Chores(JoinSet<()>);

impl Chores {
    pub(crate) fn start(db: &Db) -> Chores {
        let mut tasks = JoinSet::new();
        for chore in CHORES {
            tasks.spawn(keep_at(db.clone(), chore));
        }
        Chores(tasks)
    }

    /// Returns when nothing of it holds the database any more.
    pub(crate) async fn stop(mut self) {
        self.0.shutdown().await;
    }
}

async fn keep_at(db: Db, chore: Chore) {
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

/// How long to wait after so many failures in a row and one more.
fn back_off(failures: u32) -> Duration {
    BACK_OFF.saturating_mul(1 << failures.min(16)).min(BACK_OFF_MAX)
}

fn go_on_with_deletions(db: Db) -> Work {
    Box::pin(async move { db.resume_deletions().await.map(drop) })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_wait_longer_and_longer_but_not_for_ever() {
        let waits: Vec<u64> = (0..8).map(|failures| back_off(failures).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(back_off(u32::MAX), BACK_OFF_MAX);
    }
}
