//! The change feed as it grows.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{Either, select};

use super::alarm::Alarm;
use super::feed::{FeedReader, PAGE_LIMIT, is_lost};
use super::follow::Following;
use super::listeners::Heard;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::events::{EventPage, Feed, Position};

/// Follows the change feed, made by [`Db::changes`].
///
/// [`Db::changes`] has an example.
pub struct Changes {
    db: Db,
    /// The position after everything that was returned.
    position: Position,
    id: u64,
    alarm: Arc<Alarm>,
    _following: Following,
}

impl Db {
    /// Follows the change feed. It is read once for all who follow it and all [live reads](crate::live) of the
    /// process, by one of those who wait: this begins after what was read already.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let mut changes = db.changes().await?;
    /// let task = db.create("task", &json!({ "name": "cook" })).await?;
    /// // Ready as soon as something has changed.
    /// let page = changes.next().await?.expect("nothing was missed");
    /// assert_eq!(page.events[0].id, task.id());
    /// assert_eq!(changes.position(), &page.next);
    /// assert_eq!(changes.newest_position().await?, page.next);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn changes(&self) -> Answer<'_, Changes> {
        Box::pin(async move {
            let db = self.without_moment();
            let (following, alarm) =
                (Following::new(db.shared.clone()), Arc::new(Alarm::default()));
            let (id, position) = db.shared.once_begun(|hub| hub.listen(&alarm)).await?;
            Ok(Changes { position, id, alarm, _following: following, db })
        })
    }
}

impl Changes {
    /// Returns the position after everything that [`Changes::next`] has returned.
    ///
    /// [`Db::changes`] has an example.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Returns the position after everything that had happened when it was called. It is read from the current
    /// one, which reading on from there leads to, too, unless that is no longer kept.
    ///
    /// [`Db::changes`] has an example.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn newest_position(&self) -> Result<Position, Error> {
        let feed = Feed::new(&self.db.shared);
        let (mut position, called_ms) = (self.position.clone(), self.db.shared.now_ms());
        loop {
            let (mut is_any, mut is_later) = (false, false);
            let read = feed.advance(&mut position, PAGE_LIMIT, |at, _| {
                (is_any, is_later) = (true, is_later || at.change.at.0 > called_ms.unsigned_abs());
                Ok(())
            });
            match read.await {
                // A page can end before the feed does, and a feed that others write to does not end.
                Ok(_) if is_any && !is_later => {}
                Ok(_) => return Ok(position),
                Err(error) if is_lost(&error) => return feed.newest_position().await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for changes, and returns their events: those that [`Db::events`] returns, too. A dropped call loses
    /// nothing.
    ///
    /// None if there may be changes that are not known: somebody took too long to ask for them, this began
    /// while they were being read, or one cannot be read. This goes on after them. Read them by
    /// [`Db::events`] from the position before: pages that begin where one of those ends follow it, and
    /// until there is one, the others are read in the same way.
    ///
    /// [`Db::changes`] has an example.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn next(&mut self) -> Result<Option<EventPage>, Error> {
        loop {
            match self.db.shared.hub.heard(self.id) {
                Heard::Page(page) => {
                    let mut page = Arc::unwrap_or_clone(page);
                    page.events.retain(|event| self.db.sees(event));
                    self.position = page.next.clone();
                    return Ok(Some(page));
                }
                Heard::Unknown => {
                    let again = self.db.shared.once_begun(|hub| hub.listen_again(self.id));
                    self.position = again.await?;
                    return Ok(None);
                }
                Heard::Nothing => self.wait().await?,
            }
        }
    }

    async fn wait(&self) -> Result<(), Error> {
        let shared = &self.db.shared;
        let read_feed = FeedReader { shared }.run();
        // The feed first: what it has raises the alarm.
        match select(Box::pin(read_feed), Box::pin(self.alarm.wait())).await {
            Either::Left((failed, _)) => Err(failed),
            Either::Right(((), _)) => Ok(()),
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.db.shared.hub.stop_listening(self.id);
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("position", &self.position).finish_non_exhaustive()
    }
}
