//! Background workers that handle events and run jobs.

use std::sync::Arc;
use std::time::Duration;

use keyloom::events::{Handlers, Next, Pace};
use keyloom::{Clock, Db, SystemClock};
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Jobs mostly wait for other servers, so there are more workers than cores.
const WORKERS: u32 = 16;
/// How often an idle worker asks whether its next step is due.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// How long workers may take to finish when they are stopped.
const STOP_TIME: Duration = Duration::from_secs(10);
/// How long to wait before retrying a failed heartbeat.
const REST_AFTER_MISSED_BEAT: Duration = Duration::from_millis(500);

/// Workers that can be stopped.
pub(crate) struct Workers {
    db: Db,
    shared: Arc<Shared>,
    stopping: watch::Sender<bool>,
    tasks: JoinSet<()>,
    heartbeat: JoinHandle<()>,
}

impl Workers {
    /// Starts the workers, after the heartbeat: jobs are taken only while it runs.
    pub(crate) async fn start(db: &Db, handlers: Handlers) -> Workers {
        let rest = beat(db).await;
        let heartbeat = tokio::spawn(keep_beating(db.clone(), rest));
        let (turn, busy) = (Mutex::default(), Notify::new());
        let shared = Arc::new(Shared { pace: Pace::new(db), handlers, turn, busy });
        let (stopping, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for _ in 0..WORKERS {
            tasks.spawn(work(shared.clone(), stopped.clone()));
        }
        Workers { db: db.clone(), shared, stopping, tasks, heartbeat }
    }

    /// Lets workers finish their current work. A job that takes longer is left to another process, or to
    /// the next one on the same directory.
    pub(crate) async fn stop(mut self) {
        // Fails if all workers have ended already.
        let _ = self.stopping.send(true);
        self.shared.busy.notify_one();
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

/// What the workers share.
struct Shared {
    pace: Pace,
    handlers: Handlers,
    /// Held by the idle worker that waits for the next step; the others queue for it.
    turn: Mutex<()>,
    /// Wakes that worker.
    busy: Notify,
}

async fn work(shared: Arc<Shared>, stopped: watch::Receiver<bool>) {
    while wait(&shared, &stopped).await {
        // As long as there is something to do, this worker does it, and wakes one more.
        while step(&shared).await && !*stopped.borrow() {
            shared.busy.notify_one();
        }
    }
}

/// Waits until a step is due. Returns false if the workers are stopped, which wakes the one that
/// waits; the others take its place and find out.
async fn wait(shared: &Shared, stopped: &watch::Receiver<bool>) -> bool {
    let _turn = shared.turn.lock().await;
    while !*stopped.borrow() {
        // Whether it has become earlier is asked again and again.
        let rest = until(shared.pace.next_ms()).min(ASK_AGAIN);
        if rest.is_zero() {
            return true;
        }
        // Ends after that time, or when somebody has found something to do.
        let _ = timeout(rest, shared.busy.notified()).await;
    }
    false
}

/// Takes one step. Returns whether the next one is due at once.
async fn step(shared: &Shared) -> bool {
    match shared.pace.step(&shared.handlers).await {
        Ok(work) => {
            for problem in &work.problems {
                tracing::warn!(%problem, "event handling is delayed");
            }
            work.next == Next::Now && work.problems.is_empty()
        }
        Err(error) => {
            tracing::error!(%error, "cannot handle events and jobs, retrying");
            false
        }
    }
}

fn until(time_ms: i64) -> Duration {
    let time_ms = u64::try_from(time_ms).unwrap_or(0);
    Duration::from_millis(time_ms.saturating_sub(SystemClock.now().0))
}
