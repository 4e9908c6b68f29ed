//! One live read: moments, one after the other.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::stream::{Stream, unfold};
use keyloom_query::Dependencies;

use super::feed::FeedReader;
use super::hub::{Hub, ReadAt, Since, Step};
use crate::db::{Db, Snapshot};
use crate::error::Error;
use crate::events::{Feed, Position};
use crate::shared::Shared;

/// Indexes of a shared store can lag: what was read right after a change is read once more after this.
const LAG: Duration = Duration::from_millis(1500);

/// A live read, made by [`Db::live`].
///
/// The [module](crate::live) has an example.
pub struct Live {
    db: Db,
    last: Option<Last>,
    _following: Following,
}

/// A database as of a moment.
///
/// The [module](crate::live) has an example.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The database. Everything that is read of it, until the next call of [`Live::next`], is followed.
    /// Drop it after reading: it keeps removed data on disk.
    pub db: Db,
    /// The position of the last change that it contains. On a store without snapshots, its reads contain
    /// this change, and perhaps later ones.
    pub position: Position,
}

/// What was read last.
struct Last {
    read: ReadAt,
    /// Whether it was read because of a change.
    is_after_change: bool,
}

/// Why a live read reads again.
enum Woken {
    /// With all that has changed, if that is known.
    Changed(Option<Step>),
    /// Something has expired, or an index may have caught up.
    Due,
}

/// Keeps the feed being read.
pub(super) struct Following(Arc<Shared>);

impl Following {
    pub(super) fn new(shared: Arc<Shared>) -> Following {
        shared.hub.enter();
        Following(shared)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.0.hub.leave();
    }
}

impl Shared {
    /// What is known of the feed, once somebody has begun to read it.
    pub(super) async fn once_begun<T>(
        &self,
        known: impl Fn(&Hub) -> Option<T>,
    ) -> Result<T, Error> {
        loop {
            if let Some(known) = known(&self.hub) {
                return Ok(known);
            }
            self.hub.begin(Feed::new(self).newest_position().await?);
        }
    }
}

impl Db {
    /// Starts a live read.
    ///
    /// The [module](crate::live) has an example.
    pub fn live(&self) -> Live {
        let db = self.without_moment();
        Live { last: None, _following: Following::new(db.shared.clone()), db }
    }

    /// The same database, as of no moment.
    pub(super) fn without_moment(&self) -> Db {
        Db { snapshot: None, watch: None, noted: None, ..self.clone() }
    }
}

impl Live {
    /// Returns the database as of now: at once when it is first called, and afterwards as soon as a
    /// change affects what was read of the moment before, or something that was read has expired. Several
    /// changes can be in one moment. A dropped call loses nothing.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn next(&mut self) -> Result<Moment, Error> {
        let woken = match &self.last {
            None => Woken::Due,
            Some(last) => self.wait(last).await?,
        };
        match woken {
            Woken::Changed(step) => match step.and_then(|step| self.follow(step)) {
                Some(moment) => Ok(moment),
                None => self.take(true).await,
            },
            Woken::Due => self.take(false).await,
        }
    }

    /// Returns the moments as a stream, which does not end.
    pub fn into_stream(self) -> impl Stream<Item = Result<Moment, Error>> + Send {
        unfold(self, |mut live| async move { Some((live.next().await, live)) })
    }

    async fn take(&mut self, is_after_change: bool) -> Result<Moment, Error> {
        let shared = &self.db.shared;
        // Everything that is read from now on contains the changes before.
        let (before, count) = shared.once_begun(Hub::progress).await?;
        let schema = shared.schema();
        let snapshot = Snapshot::take(&self.db).await?;
        let seq = snapshot.as_ref().and_then(|snapshot| snapshot.store.as_of());
        let position = match seq {
            // A store with snapshots has one shard.
            Some(seq) => Position(before.0.into_keys().map(|shard| (shard, seq)).collect()),
            None => before,
        };
        let noted = Arc::new(Dependencies::default());
        let read = ReadAt { since: Since { seq, count }, schema, noted: noted.clone() };
        self.last = Some(Last { read, is_after_change });
        let db = Db { snapshot, noted: Some(noted), ..self.db.clone() };
        Ok(Moment { db, position })
    }

    /// Goes on to a snapshot of which everything is known that has changed; none if the model has changed.
    fn follow(&mut self, step: Step) -> Option<Moment> {
        let (shared, Step { snapshot, changes }) = (&self.db.shared, step);
        let ReadAt { schema, noted, .. } = &self.last.as_ref()?.read;
        let (position, count) = shared.hub.progress()?;
        let seq = snapshot.store.as_of();
        if snapshot.schema.edit != schema.edit || shared.schema().edit != schema.edit {
            return None;
        }
        let position = Position(
            position.0.into_keys().map(|shard| Some((shard, seq?))).collect::<Option<_>>()?,
        );
        let noted = Arc::new(Dependencies::following(noted, changes));
        let read =
            ReadAt { since: Since { seq, count }, schema: schema.clone(), noted: noted.clone() };
        self.last = Some(Last { read, is_after_change: true });
        let db = Db { snapshot: Some(snapshot), noted: Some(noted), ..self.db.clone() };
        Some(Moment { db, position })
    }

    async fn wait(&self, last: &Last) -> Result<Woken, Error> {
        let Last { read, is_after_change } = last;
        let shared = &self.db.shared;
        let waiter = shared.hub.wait_for(read.clone());
        // Once this waits, another model raises the alarm.
        if shared.schema().edit != read.schema.edit {
            return Ok(Woken::Changed(None));
        }
        let due = self.due(read, *is_after_change);
        let read_feed = FeedReader { shared }.run();
        let alarmed = Box::pin(waiter.alarm.wait());
        // The feed first: what it has raises the alarm.
        match select(Box::pin(read_feed), select(alarmed, Box::pin(due))).await {
            Either::Left((failed, _)) => Err(failed),
            Either::Right((Either::Left(_), _)) => Ok(Woken::Changed(waiter.step())),
            Either::Right((Either::Right(_), _)) => Ok(Woken::Due),
        }
    }

    /// Waits until what was read is out of date without a change.
    async fn due(&self, read: &ReadAt, is_after_change: bool) {
        let (shared, lag) = (&self.db.shared, LAG.as_millis() as u64);
        let caught_up = (is_after_change && self.db.is_shared()).then_some(lag);
        let expires = read.noted.expires_ms().map(|expires_ms| {
            u64::try_from(expires_ms.saturating_sub(shared.now_ms())).unwrap_or(0)
        });
        match caught_up.into_iter().chain(expires).min() {
            Some(0) => {}
            Some(wait_ms) => shared.clock.sleep(Duration::from_millis(wait_ms)).await,
            None => std::future::pending().await,
        }
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("db", &self.db).finish_non_exhaustive()
    }
}
