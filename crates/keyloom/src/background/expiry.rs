//! Expiry: deletes expired entities, each like any other deletion.

use keyloom_model::EntityId;

use super::OperationKind;
use super::lease::{Held, Lease};
use super::resume::resume_deletions;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::shared::Shared;
use crate::write::{WriteContext, expire_entity};

/// The number of expired entities in one read.
const EXPIRED_PAGE: u32 = 100;

impl Db {
    /// Deletes at most `limit` expired entities, with everything that their deletion affects; returns
    /// how many. Readers do not see expired entities in any case; this frees their space and clears
    /// references to them. An entity whose deletion a reference forbids stays until that is gone.
    /// Dropping the future stops it; the next call continues, and first completes interrupted large
    /// deletions.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.session]\nexpires = \"until\"\nfields.until = \"time\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// // The model has `expires = "until"`.
    /// let session = db.create("session", &json!({ "until": "2020-01-01T00:00:00Z" })).await?;
    /// assert!(db.get("session", session.id()).await?.is_none());
    /// assert_eq!(db.expire(100).await?, 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn expire(&self, limit: u32) -> Answer<'_, u32> {
        Box::pin(expire(&self.shared, limit))
    }
}

async fn expire(shared: &Shared, limit: u32) -> Result<u32, Error> {
    // Otherwise this would meet what an earlier call has begun to remove again and again.
    resume_deletions(shared).await?;
    let (schema, lease) = (shared.schema(), Lease::new(shared, "expiry"));
    let mut count = 0;
    for (id, entity) in schema.model().entities() {
        if entity.expires.is_some() {
            let ctx = shared.write_context(&schema);
            count += expire_kind(shared, ctx, id, limit - count).await?;
        }
    }
    lease.release().await?;
    Ok(count)
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
    let lease = Lease::new(shared, "expiry");
    let (mut count, mut after) = (0, None);
    while count < limit {
        let page = EXPIRED_PAGE.min(limit - count);
        let page = ctx.reader().expired(entity, after.as_deref(), page).await?;
        // Without expired entities, nothing is leased.
        if !page.keys.is_empty() && lease.take().await? == Held::No {
            break;
        }
        for key in page.keys {
            match expire_entity(&ctx, &key).await {
                Ok(()) => {
                    call.is_done(1);
                    count += 1;
                }
                // It stays, or another process is deleting it; continue with the next.
                Err(Error::InUse { .. } | Error::Contended) => {}
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
