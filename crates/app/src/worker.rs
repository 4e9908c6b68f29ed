//! Background workers that handle events and run jobs.

use std::sync::Arc;
use std::time::Duration;

use keyloom::events::{Handlers, Next};
use keyloom::{Clock, Db, SystemClock};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Jobs mostly wait for other servers, so there are more workers than cores.
const WORKERS: u32 = 16;
/// How long an idle worker waits before it checks for work: the delay of a handler after a change.
const REST: Duration = Duration::from_millis(250);
/// How long a worker waits after the store failed.
const REST_AFTER_ERROR: Duration = Duration::from_secs(5);

/// How long workers may take to finish when they are stopped.
const STOP_TIME: Duration = Duration::from_secs(10);
/// How long to wait before retrying a failed heartbeat.
const REST_AFTER_MISSED_BEAT: Duration = Duration::from_millis(500);

/// Workers that can be stopped.
pub(crate) struct Workers {
    db: Db,
    stopping: watch::Sender<bool>,
    tasks: JoinSet<()>,
    heartbeat: JoinHandle<()>,
}

impl Workers {
    /// Starts the workers, after the heartbeat: jobs are taken only while it runs.
    pub(crate) async fn start(db: &Db, handlers: Handlers) -> Workers {
        let rest = beat(db).await;
        let heartbeat = tokio::spawn(keep_beating(db.clone(), rest));
        let handlers = Arc::new(handlers);
        let (stopping, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for number in 0..WORKERS {
            // Staggered, so that they do not all poll at the same moment.
            let first = REST * number / WORKERS;
            tasks.spawn(work(db.clone(), handlers.clone(), (stopped.clone(), first)));
        }
        Workers { db: db.clone(), stopping, tasks, heartbeat }
    }

    /// Lets workers finish their current work. A job that takes longer is left to another process, or to
    /// the next one on the same directory.
    pub(crate) async fn stop(mut self) {
        // Fails if all workers have ended already.
        let _ = self.stopping.send(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(STOP_TIME, ended).await;
        self.tasks.shutdown().await;
        // The heartbeat continues until no job runs any more.
        self.heartbeat.abort();
        match timeout(STOP_TIME, self.db.stop_heartbeat()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "cannot release unfinished jobs"),
            Err(_) => {
                tracing::error!("cannot release unfinished jobs: the store does not answer");
            }
        }
    }
}

/// Runs beside the workers: a handler can take longer than the heartbeat's interval.
async fn keep_beating(db: Db, mut rest: Option<Duration>) {
    while let Some(time) = rest {
        sleep(time).await;
        rest = beat(&db).await;
    }
}

/// Writes one heartbeat. Returns how long to wait until the next one, if one is needed.
async fn beat(db: &Db) -> Option<Duration> {
    match db.heartbeat().await {
        Ok(Next::Now) => Some(Duration::ZERO),
        Ok(Next::At(time_ms)) => Some(until(time_ms)),
        Ok(Next::Idle) => None,
        Err(error) => {
            tracing::error!(%error, "cannot write the heartbeat, retrying");
            Some(REST_AFTER_MISSED_BEAT)
        }
    }
}

async fn work(
    db: Db,
    handlers: Arc<Handlers>,
    (mut stopped, first): (watch::Receiver<bool>, Duration),
) {
    let mut rest = first;
    // A wait ends when its time is over or the workers are stopped.
    while timeout(rest, stopped.wait_for(|is_stopping| *is_stopping)).await.is_err() {
        rest = match db.work(&handlers).await {
            Ok(work) => {
                for problem in &work.problems {
                    tracing::warn!(%problem, "event handling is delayed");
                }
                match work.next {
                    Next::Now if work.problems.is_empty() => Duration::ZERO,
                    Next::Now => REST_AFTER_ERROR,
                    Next::At(time_ms) => until(time_ms).min(REST),
                    Next::Idle => REST,
                }
            }
            Err(error) => {
                tracing::error!(%error, "cannot handle events and jobs, retrying");
                REST_AFTER_ERROR
            }
        };
    }
}

fn until(time_ms: i64) -> Duration {
    let time_ms = u64::try_from(time_ms).unwrap_or(0);
    Duration::from_millis(time_ms.saturating_sub(SystemClock.now().0))
}
