//! The change feed as it grows.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{Either, select};

use super::alarm::Alarm;
use super::feed::{FeedReader, PAGE_LIMIT};
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
    /// Whether nothing had happened after it when it was determined.
    is_newest: bool,
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
            let mut is_newest = false;
            let (id, position) = loop {
                if let Some(begun) = db.shared.hub.listen(&alarm) {
                    break begun;
                }
                let newest = Feed::new(&db.shared).newest_position().await?;
                is_newest = db.shared.hub.begin(newest);
            };
            Ok(Changes { position, is_newest, id, alarm, _following: following, db })
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

    /// Returns the position after everything that has happened. It is derived from the current one: reading
    /// on from there leads to the positions of the next pages.
    ///
    /// [`Db::changes`] has an example.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn newest_position(&self) -> Result<Position, Error> {
        let mut position = self.position.clone();
        let mut may_be_more = !self.is_newest;
        while may_be_more {
            let read = Feed::new(&self.db.shared);
            may_be_more = read.advance(&mut position, PAGE_LIMIT, |_, _| Ok(())).await?;
        }
        Ok(position)
    }

    /// Waits for changes, and returns their events: those that [`Db::events`] returns, too. None if there may
    /// be changes that are not known: somebody took too long to ask for them, or one cannot be read. Read
    /// them by [`Db::events`] from the position before; this goes on after them. A dropped call loses
    /// nothing.
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
                    self.advance(page.next.clone());
                    return Ok(Some(page));
                }
                Heard::Unknown => {
                    let position = self.begin_again().await?;
                    self.advance(position);
                    return Ok(None);
                }
                Heard::Nothing => self.wait().await?,
            }
        }
    }

    /// Returns where pages are passed on from again.
    async fn begin_again(&self) -> Result<Position, Error> {
        let shared = &self.db.shared;
        loop {
            if let Some(position) = shared.hub.listen_again(self.id) {
                return Ok(position);
            }
            shared.hub.begin(Feed::new(shared).newest_position().await?);
        }
    }

    fn advance(&mut self, position: Position) {
        (self.position, self.is_newest) = (position, false);
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
        self.db.shared.hub.listen_no_more(self.id);
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("position", &self.position).finish_non_exhaustive()
    }
}
