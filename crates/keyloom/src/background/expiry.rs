//! What is to be done from time to time: entities that have expired are deleted.

use crate::answer::Answer;
use crate::background::OperationKind;
use crate::db::Db;
use crate::error::Error;
use crate::write::Intent;

/// How many expired entities are put away in one go.
const EXPIRED_PAGE: u32 = 100;

impl Db {
    /// Deletes entities whose time has come, at most `limit` of them, with everything that goes
    /// with them; returns how many. They are not seen by readers in any case; this frees their
    /// space and clears what refers to them. One that a reference holds stays until that is gone.
    /// Whoever drops the future, or is killed, stops it; the next call goes on with what is left, and
    /// first finishes large deletions that were interrupted.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn expire(&self, limit: u32) -> Answer<'_, u32> {
        Box::pin(async move {
            // What a call before has begun to remove would be met again and again.
            self.resume_deletions().await?;
            let schema = self.shared.schema();
            let writes = self.shared.write_context(&schema);
            let mut count = 0;
            for (entity, declared) in schema.model().entities() {
                if declared.expires.is_none() {
                    continue;
                }
                let since_ms = self.shared.now_ms();
                let call = self.shared.calls.begin(OperationKind::Expiry, &declared.name, since_ms);
                let mut after = None;
                while count < limit {
                    let page = EXPIRED_PAGE.min(limit - count);
                    let page = writes.reader().expired(entity, after.as_deref(), page).await?;
                    for key in page.keys {
                        match writes.execute(&[Intent::Expire { key }]).await {
                            Ok(_) => {
                                call.is_done(1);
                                count += 1;
                            }
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
