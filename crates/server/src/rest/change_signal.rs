//! Wakes all change streams: one task polls the change feed for all of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyloom::Db;
use keyloom::events::Position;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often the feed is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
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
    /// Incremented whenever there may be new changes.
    changed: watch::Sender<u64>,
    /// Whether the polling task runs. It ends when there are no subscribers.
    is_polling: Mutex<bool>,
}

impl ChangeSignal {
    pub(crate) fn new(db: Db) -> ChangeSignal {
        ChangeSignal { db, changed: watch::Sender::new(0), is_polling: Mutex::new(false) }
    }

    /// Returns a receiver that changes whenever there may be changes since this call.
    pub(crate) fn subscribe(self: &Arc<Self>) -> watch::Receiver<u64> {
        let mut is_polling = self.is_polling.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.changed.subscribe();
        if !*is_polling {
            *is_polling = true;
            tokio::spawn(self.clone().run());
        }
        receiver
    }

    async fn run(self: Arc<Self>) {
        let (mut position, mut rest) = (None, POLL_INTERVAL);
        while self.has_subscribers() {
            let writes = self.db.writes_begun();
            match self.poll(position.as_ref()).await {
                Poll::Unchanged => rest = (rest * 2).min(SHARED_INTERVAL_MAX),
                Poll::Changed(next) => {
                    rest = SHARED_INTERVAL;
                    position = next;
                    self.changed.send_modify(|count| *count = count.wrapping_add(1));
                }
            }
            match self.db.is_shared() {
                true => rest = self.rest(rest, writes).await,
                false => sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// Waits for the next poll, which comes earlier if this process writes. Returns how long a wait is
    /// now.
    async fn rest(&self, rest: Duration, writes: u64) -> Duration {
        let until = Instant::now() + rest;
        loop {
            sleep(SHARED_INTERVAL).await;
            if self.db.writes_begun() != writes {
                return SHARED_INTERVAL;
            }
            if Instant::now() >= until {
                return rest;
            }
        }
    }

    /// Clears `is_polling` if there are none. `subscribe` holds the same lock, so no subscriber is left
    /// without a polling task.
    fn has_subscribers(&self) -> bool {
        let mut is_polling = self.is_polling.lock().unwrap_or_else(PoisonError::into_inner);
        *is_polling = self.changed.receiver_count() > 0;
        *is_polling
    }

    /// Checks for changes after a position. Without one, and after an error, there may be some.
    async fn poll(&self, position: Option<&Position>) -> Poll {
        let Some(position) = position else {
            return Poll::Changed(self.db.newest_position().await.ok());
        };
        match self.db.events(position, POLL_LIMIT).await {
            Ok(page) if page.events.is_empty() && page.next == *position => Poll::Unchanged,
            Ok(page) => Poll::Changed(Some(page.next)),
            Err(_) => Poll::Changed(None),
        }
    }
}

/// The result of a poll.
enum Poll {
    Unchanged,
    /// There may be changes; the position of the next poll.
    Changed(Option<Position>),
}
