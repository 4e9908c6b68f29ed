//! What is to be done from time to time: deletions that a crash interrupted, and what has expired.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_query::{DeletionState, deletion_key};
use keyloom_store::Query;
use keyloom_value::{KeyBytes, KeyCondition, Value};

use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::upkeep::Intent;

/// How many expired entities are put away in one go.
const EXPIRED_PAGE: u32 = 100;

impl Db {
    /// Brings deletions to their end that were decided before the database was closed, and calls
    /// the others off.
    pub(crate) async fn resume_deletions(&self) -> Result<(), Error> {
        let schema = self.shared.schema();
        let upkeep = self.shared.upkeep(&schema);
        let partition = deletion_key("").partition.into_vec();
        let mut query = Query::new(&self.shared.table, KeyCondition::equal(PARTITION, partition));
        loop {
            let page = self.shared.store.query(query.clone()).await?;
            for row in &page.items {
                let sort = row.get(SORT).and_then(Value::as_b).map(KeyBytes::decode);
                let Some(Ok(sort)) = sort else { continue };
                let Some(task) = sort.first().and_then(Value::as_s) else { continue };
                let gone_on = match DeletionState::read(row) {
                    Ok(DeletionState::Marking | DeletionState::CalledOff) => {
                        upkeep.take_back(task, &upkeep.roots_of(row)).await
                    }
                    Ok(DeletionState::Clearing | DeletionState::Sweeping) => {
                        upkeep.resume(task).await
                    }
                    Err(_) => Ok(()),
                };
                // Damage must not keep a database from being opened, and verified. Whoever meets a
                // mark of the task tries again.
                if let Err(Error::Store(error)) = gone_on {
                    return Err(error.into());
                }
            }
            match page.last_key {
                None => return Ok(()),
                start => query.start = start,
            }
        }
    }

    /// Deletes entities whose time has come, at most `limit` of them, with everything that goes
    /// with them; returns how many. They are not seen by readers in any case; this frees their
    /// space and clears what refers to them. One that a reference holds stays until that is gone.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn expire(&self, limit: u32) -> Answer<'_, u32> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let upkeep = self.shared.upkeep(&schema);
            let mut count = 0;
            for (entity, _) in schema.model().entities() {
                let mut after = None;
                while count < limit {
                    let page = EXPIRED_PAGE.min(limit - count);
                    let page = upkeep.reader().expired(entity, after.as_deref(), page).await?;
                    for key in page.keys {
                        match upkeep.execute(&[Intent::Expire { key }]).await {
                            Ok(_) => count += 1,
                            // It stays; those after it can go.
                            Err(Error::InUse { .. }) => {}
                            Err(error) => return Err(error),
                        }
                    }
                    match page.next {
                        None => break,
                        next => after = next,
                    }
                }
            }
            Ok(count)
        })
    }
}
