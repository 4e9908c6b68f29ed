//! Removes the entities that an applied deletion has hidden, the outermost first.

use std::collections::HashSet;

use keyloom_model::{EntityKey, OwnRow, RowKey};
use keyloom_query::LinkRow;

use crate::error::Error;
use crate::write::{DeletionRecord, LINKS_PAGE, Transition, WriteContext};

/// Marked entities that refer to an entity.
enum Marked {
    /// One that can be referred to: what refers to it is removed first.
    Inner(EntityKey),
    /// A page of entities that cannot be referred to; empty if none is left.
    Outer(Vec<OwnRow>),
}

/// Removes everything marked that can be reached from a root.
pub(super) async fn sweep(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    root: &EntityKey,
) -> Result<(), Error> {
    let mut path = vec![root.clone()];
    let mut on_path: HashSet<RowKey> = path.iter().map(|key| ctx.own_key(key)).collect();
    let mut attempts = ctx.attempts();
    while let Some(target) = path.last().cloned() {
        let (rows, is_last) = match marked_referrers(ctx, record, &target, &on_path).await? {
            Marked::Inner(inner) => {
                on_path.insert(ctx.own_key(&inner));
                path.push(inner);
                continue;
            }
            Marked::Outer(outer) if outer.is_empty() => {
                let row = ctx.reader().get_any(&target).await?;
                (row.into_iter().filter(|row| record.has_marked(row)).collect(), true)
            }
            Marked::Outer(outer) => (outer, false),
        };
        if remove(ctx, record, rows).await? {
            attempts = ctx.attempts();
            path.truncate(path.len() - usize::from(is_last));
            continue;
        }
        // Another process may be sweeping the same deletion: then read again.
        if ctx.reader().deletion_state(record.id()).await?.is_none() {
            return Ok(());
        }
        attempts.next().await?;
    }
    Ok(())
}

async fn marked_referrers(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    target: &EntityKey,
    on_path: &HashSet<RowKey>,
) -> Result<Marked, Error> {
    let mut after = None;
    loop {
        let page = ctx.reader().links(target, after.as_ref(), LINKS_PAGE).await?;
        let mut outer = vec![];
        for LinkRow { owner, .. } in page.links {
            if on_path.contains(&ctx.own_key(&owner)) {
                continue;
            }
            let Some(row) = ctx.reader().get_any(&owner).await? else { continue };
            if !record.has_marked(&row) {
                continue;
            }
            if ctx.references().is_referable(&owner) {
                return Ok(Marked::Inner(owner));
            }
            outer.push(row);
        }
        match page.next {
            Some(next) if outer.is_empty() => after = Some(next),
            Some(_) | None => return Ok(Marked::Outer(outer)),
        }
    }
}

/// Removes rows with everything that they imply, in batches. Returns false if one has changed.
async fn remove(
    ctx: &WriteContext<'_>,
    record: &DeletionRecord,
    rows: Vec<OwnRow>,
) -> Result<bool, Error> {
    let transitions: Vec<_> = rows.into_iter().map(Transition::delete).collect();
    let planner = ctx.planner(&[]);
    for some in planner.batches(&transitions, 1) {
        let mut difference = planner.plan(some)?;
        difference.actions.push(record.subtract_done(ctx.table, some.len()));
        if !ctx.commit_difference(difference).await?.is_done() {
            return Ok(false);
        }
    }
    Ok(true)
}
