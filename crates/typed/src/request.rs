//! Changes that are made when they are awaited.

use std::future::{Future, IntoFuture};
use std::pin::Pin;

use keyloom::Db;

use crate::change::{Change, Existing};
use crate::{Changes, Entity, Error, Version};

/// Changes that are made, all or none, when this is awaited.
#[derive(Clone, Debug)]
#[must_use = "nothing is changed until this is awaited"]
pub struct Request<C> {
    db: Db,
    changes: C,
    key: Option<String>,
}

impl<C: Changes> Request<C> {
    /// A request for these changes.
    pub fn new(db: &Db, changes: C) -> Request<C> {
        Request { db: db.clone(), changes, key: None }
    }

    /// Makes the changes only once: a repetition with the same key changes nothing and returns the first
    /// result, as [`Db::transact_idempotent`].
    pub fn idempotent(mut self, key: impl Into<String>) -> Request<C> {
        self.key = Some(key.into());
        self
    }

    async fn send(self) -> Result<C::Output, Error> {
        let mut changes = vec![];
        let read = self.changes.add_to(&mut changes);
        let records = match &self.key {
            None => self.db.transact(changes).await?,
            Some(key) => self.db.transact_idempotent(key, changes).await?.records(),
        };
        read(&mut records.into_iter())
    }
}

impl<E: Entity, K: Existing> Request<Change<E, K>> {
    /// Makes the change only if the entity has this version.
    pub fn if_version(mut self, version: &Version) -> Request<Change<E, K>> {
        self.changes = self.changes.if_version(version);
        self
    }
}

impl<C: Changes> IntoFuture for Request<C> {
    type Output = Result<C::Output, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
