//! Whether something has happened: one look at the feed, now and then, for all who follow it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyloom::Db;
use keyloom::events::Position;
use tokio::sync::watch;
use tokio::time::sleep;

/// How often is looked for something new.
const EVERY: Duration = Duration::from_millis(100);
/// How many changes of rows are looked at together.
const LOOKED: usize = 256;

/// Tells those who follow it that there may be something new.
#[derive(Debug)]
pub(crate) struct News {
    db: Db,
    /// Counts how often something was new.
    told: watch::Sender<u64>,
    /// Whether somebody looks. Nobody does while nobody follows.
    is_watched: Mutex<bool>,
}

impl News {
    pub(crate) fn new(db: Db) -> News {
        News { db, told: watch::Sender::new(0), is_watched: Mutex::new(false) }
    }

    /// Changes whenever something may have happened since this call.
    pub(crate) fn follow(self: &Arc<Self>) -> watch::Receiver<u64> {
        let mut is_watched = self.is_watched.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.told.subscribe();
        if !*is_watched {
            *is_watched = true;
            tokio::spawn(self.clone().watch());
        }
        receiver
    }

    async fn watch(self: Arc<Self>) {
        let mut position = None;
        while self.is_followed() {
            match self.look(position.as_ref()).await {
                Look::Nothing => {}
                Look::New(next) => {
                    position = next;
                    self.told.send_modify(|count| *count = count.wrapping_add(1));
                }
            }
            sleep(EVERY).await;
        }
    }

    /// Somebody who begins to follow holds the lock, so nobody is left without a watch.
    fn is_followed(&self) -> bool {
        let mut is_watched = self.is_watched.lock().unwrap_or_else(PoisonError::into_inner);
        *is_watched = self.told.receiver_count() > 0;
        *is_watched
    }

    /// Looks for what has happened since a position. Without one, and after an error, it is not
    /// known: then everybody has to look.
    async fn look(&self, position: Option<&Position>) -> Look {
        let Some(position) = position else {
            return Look::New(self.db.newest_position().await.ok());
        };
        match self.db.events(position, LOOKED).await {
            Ok(page) if page.events.is_empty() && page.next == *position => Look::Nothing,
            Ok(page) => Look::New(Some(page.next)),
            Err(_) => Look::New(None),
        }
    }
}

/// What a look has shown.
enum Look {
    Nothing,
    /// Something may be new; where to look next.
    New(Option<Position>),
}
