//! Wakes all streams of changes: one task follows the change feed for all of them, and passes on what is read
//! of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyloom::events::{EventPage, Position};
use keyloom::live::Changes;
use keyloom::{Db, Error};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::race::{Either, race};

/// How long until a feed that could not be read is read again.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Notifies subscribers that there may be new changes.
#[derive(Debug)]
pub(crate) struct ChangeSignal {
    db: Db,
    /// Changes whenever there may be new changes.
    changed: watch::Sender<Changed>,
    following: Mutex<State>,
}

/// What was read of the feed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    /// The changes; none if they are not known, so that there may be some.
    pub(crate) read: Option<Arc<ReadChanges>>,
}

/// Changes of all tenants between two positions.
#[derive(Debug)]
pub(crate) struct ReadChanges {
    pub(crate) after: Position,
    pub(crate) page: EventPage,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the task runs. It ends when there are no subscribers.
    is_on: bool,
    /// How far it has read.
    position: Option<Position>,
}

impl ChangeSignal {
    pub(crate) fn new(db: Db) -> ChangeSignal {
        let changed = watch::Sender::new(Changed::default());
        ChangeSignal { db, changed, following: Mutex::default() }
    }

    /// Follows the feed from where the process reads it. A stream that starts at the newest position of this
    /// gets on with what the task passes on.
    pub(crate) async fn begin(&self) -> Result<Changes, Error> {
        self.db.changes().await
    }

    /// Returns a receiver that changes whenever there may be changes since this call. If the task does
    /// not run, it starts where the feed is followed, if it is.
    pub(crate) fn subscribe(self: &Arc<Self>, begun: Option<Changes>) -> watch::Receiver<Changed> {
        let mut state = self.lock();
        let receiver = self.changed.subscribe();
        if !state.is_on {
            let position = begun.as_ref().map(|changes| changes.position().clone());
            *state = State { is_on: true, position };
            tokio::spawn(self.clone().run(begun));
        }
        receiver
    }

    /// Whether the task has read up to this position and no further.
    pub(crate) fn is_at(&self, position: &Position) -> bool {
        self.lock().position.as_ref() == Some(position)
    }

    async fn run(self: Arc<Self>, mut changes: Option<Changes>) {
        let mut running = Running { signal: &self, is_over: false };
        while self.has_subscribers() {
            match race(self.changed.closed(), self.next(&mut changes)).await {
                Either::Left(()) | Either::Right(Ok(())) => {}
                Either::Right(Err(_)) => {
                    changes = None;
                    race(self.changed.closed(), sleep(RETRY_INTERVAL)).await;
                }
            }
        }
        running.is_over = true;
    }

    /// Passes on what is read next. If the feed is not followed yet, there may be something.
    async fn next(&self, following: &mut Option<Changes>) -> Result<(), Error> {
        let Some(changes) = following else {
            let changes = following.insert(self.begin().await?);
            self.pass_on(changes.position(), None);
            return Ok(());
        };
        let after = changes.position().clone();
        let page = changes.next().await?;
        self.pass_on(changes.position(), page.map(|page| Arc::new(ReadChanges { after, page })));
        Ok(())
    }

    fn pass_on(&self, position: &Position, read: Option<Arc<ReadChanges>>) {
        self.lock().position = Some(position.clone());
        self.changed.send_replace(Changed { read });
    }

    /// Ends the task if there are none. `subscribe` holds the same lock, so no subscriber is left
    /// without a task.
    fn has_subscribers(&self) -> bool {
        let mut state = self.lock();
        let is_on = self.changed.receiver_count() > 0;
        if !is_on {
            *state = State::default();
        }
        is_on
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.following.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task. If it ends with its thread or by a panic, the next subscriber starts it again.
struct Running<'s> {
    signal: &'s ChangeSignal,
    /// Whether it has ended because there are no subscribers.
    is_over: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            *self.signal.lock() = State::default();
        }
    }
}
