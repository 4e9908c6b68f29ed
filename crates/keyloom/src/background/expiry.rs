//! Expiry: entities whose time has come are deleted, each as any other deletion.

use keyloom_model::{EntityId, EntityKey};

use super::OperationKind;
use crate::answer::Answer;
use crate::db::{Db, Shared};
use crate::error::Error;
use crate::write::{Executor, Intent, WriteContext, WriteRequest};

/// How many expired entities are read at once.
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
            let mut count = 0;
            for (id, entity) in schema.model().entities() {
                if entity.expires.is_some() {
                    let ctx = self.shared.write_context(&schema);
                    count += expire_kind(&self.shared, ctx, id, limit - count).await?;
                }
            }
            Ok(count)
        })
    }
}

/// Deletes an expired entity, with everything that goes with it.
pub(crate) async fn expire_entity(ctx: &WriteContext<'_>, key: &EntityKey) -> Result<(), Error> {
    let request = WriteRequest::from(Intent::Expire { key: key.clone() });
    Box::pin(Executor::new(*ctx).execute(&request)).await.map(drop)
}

/// Deletes expired entities of one kind; returns how many.
async fn expire_kind(
    shared: &Shared,
    ctx: WriteContext<'_>,
    entity: EntityId,
    limit: u32,
) -> Result<u32, Error> {
    let call = shared.calls.begin(
        OperationKind::Expiry,
        &ctx.layouts.current.model().entity(entity).name,
        ctx.now_ms,
    );
    let (mut count, mut after) = (0, None);
    while count < limit {
        let page = EXPIRED_PAGE.min(limit - count);
        let page = ctx.reader().expired(entity, after.as_deref(), page).await?;
        for key in page.keys {
            match expire_entity(&ctx, &key).await {
                Ok(()) => {
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
    Ok(count)
}
