//! Wakes all change streams: one task reads the change feed for all of them, as soon as the store says that
//! something has changed, and passes on what it finds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyloom::events::{EventPage, Position};
use keyloom::{Db, Error};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::race::race;

/// How long until a feed that could not be read is read again.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// How often the feed of a shared store is polled after a change. Each poll is a request for each
/// shard, and a shard can be read five times a second.
const SHARED_INTERVAL: Duration = Duration::from_millis(250);
/// How often it is polled when nothing has changed for a while.
const SHARED_INTERVAL_MAX: Duration = Duration::from_secs(4);
/// Maximum number of row changes per poll.
const POLL_LIMIT: usize = 256;

/// Notifies subscribers that there may be new changes.
#[derive(Debug)]
pub(crate) struct ChangeSignal {
    db: Db,
    /// Changes whenever there may be new changes.
    changed: watch::Sender<Changed>,
    polling: Mutex<Polling>,
}

/// What a poll has found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    /// The changes; none if the poll failed, so that there may be some.
    pub(crate) polled: Option<Arc<Polled>>,
}

/// Changes of all tenants between two positions.
#[derive(Debug)]
pub(crate) struct Polled {
    pub(crate) after: Position,
    pub(crate) page: EventPage,
}

#[derive(Debug, Default)]
struct Polling {
    /// Whether the polling task runs. It ends when there are no subscribers.
    is_on: bool,
    /// How far it has read.
    position: Option<Position>,
}

impl ChangeSignal {
    pub(crate) fn new(db: Db) -> ChangeSignal {
        let changed = watch::Sender::new(Changed::default());
        ChangeSignal { db, changed, polling: Mutex::default() }
    }

    /// Returns the position after everything that has happened. It is derived from that of the polling
    /// task, so that a stream which starts there gets on with what the task reads.
    pub(crate) async fn newest_position(&self) -> Result<Position, Error> {
        let polled = self.lock().position.clone();
        let Some(mut position) = polled else { return self.db.newest_position().await };
        loop {
            let page = self.db.events(&position, POLL_LIMIT).await?;
            position = page.next;
            if !page.is_full {
                return Ok(position);
            }
        }
    }

    /// Returns a receiver that changes whenever there may be changes since this call. If the task does
    /// not run, it starts to poll at the newest position, if that is known.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        newest: Option<&Position>,
    ) -> watch::Receiver<Changed> {
        let mut polling = self.lock();
        let receiver = self.changed.subscribe();
        if !polling.is_on {
            *polling = Polling { is_on: true, position: newest.cloned() };
            tokio::spawn(self.clone().run());
        }
        receiver
    }

    /// Whether the task has read up to this position and no further.
    pub(crate) fn is_at(&self, position: &Position) -> bool {
        self.lock().position.as_ref() == Some(position)
    }

    async fn run(self: Arc<Self>) {
        let mut running = Running { signal: &self, is_over: false };
        let mut rest = SHARED_INTERVAL;
        while self.has_subscribers() {
            let writes = self.db.writes_begun();
            match self.poll().await {
                Poll::Unchanged => rest = (rest * 2).min(SHARED_INTERVAL_MAX),
                Poll::Full => rest = Duration::ZERO,
                Poll::Changed => rest = SHARED_INTERVAL,
            }
            if self.db.is_shared() {
                rest = self.rest(rest, writes).await;
            } else if !rest.is_zero() {
                self.wait().await;
            }
        }
        running.is_over = true;
    }

    /// Waits for the next poll, which comes earlier if this process writes. Returns how long a wait is
    /// now.
    async fn rest(&self, rest: Duration, writes: u64) -> Duration {
        let until = Instant::now() + rest;
        while Instant::now() < until {
            sleep(SHARED_INTERVAL).await;
            if self.db.writes_begun() != writes {
                return SHARED_INTERVAL;
            }
        }
        rest.max(SHARED_INTERVAL)
    }

    /// Waits until there may be changes, or nobody is interested in them any more.
    async fn wait(&self) {
        let position = self.lock().position.clone();
        let changed = async {
            match &position {
                Some(position) if self.db.wait_for_changes(position).await.is_ok() => {}
                Some(_) | None => sleep(RETRY_INTERVAL).await,
            }
        };
        race(self.changed.closed(), changed).await;
    }

    /// Ends the task if there are none. `subscribe` holds the same lock, so no subscriber is left
    /// without a polling task.
    fn has_subscribers(&self) -> bool {
        let mut polling = self.lock();
        let is_on = self.changed.receiver_count() > 0;
        if !is_on {
            *polling = Polling::default();
        }
        is_on
    }

    /// Polls once, and passes on what there is. Without a position, and after an error, there may be
    /// something.
    async fn poll(&self) -> Poll {
        let position = self.lock().position.clone();
        let Some(after) = position else {
            let newest = self.db.newest_position().await.ok();
            return self.pass_on(newest, Changed::default());
        };
        match self.db.events(&after, POLL_LIMIT).await {
            Ok(page) if page.events.is_empty() && page.next == after => Poll::Unchanged,
            Ok(page) => {
                let (next, is_full) = (page.next.clone(), page.is_full);
                let polled = Some(Arc::new(Polled { after, page }));
                match (self.pass_on(Some(next), Changed { polled }), is_full) {
                    (_, true) => Poll::Full,
                    (poll, false) => poll,
                }
            }
            Err(_) => self.pass_on(None, Changed::default()),
        }
    }

    fn pass_on(&self, next: Option<Position>, changed: Changed) -> Poll {
        self.lock().position = next;
        self.changed.send_replace(changed);
        Poll::Changed
    }

    fn lock(&self) -> MutexGuard<'_, Polling> {
        self.polling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The polling task. If it ends with its thread or by a panic, the next subscriber starts it again.
struct Running<'s> {
    signal: &'s ChangeSignal,
    /// Whether it has ended because there are no subscribers.
    is_over: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            *self.signal.lock() = Polling::default();
        }
    }
}

/// The result of a poll.
enum Poll {
    Unchanged,
    Changed,
    /// There may be more at once.
    Full,
}
