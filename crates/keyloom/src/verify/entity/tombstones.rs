//! The deletions that an entity's tombstones name exist.

use std::collections::BTreeSet;

use keyloom_model::OwnRow;

use super::super::findings::Findings;
use super::super::{Problem, Remedy};
use super::EntityCheck;
use crate::background::unmark_entity;
use crate::error::Error;
use crate::write::DeletionRecord;

pub(super) async fn check(
    entity: &EntityCheck<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let (step, own) = (entity.step, entity.own());
    let mut deletions: BTreeSet<String> = own.deletion.iter().cloned().collect();
    deletions.extend(own.pending.deletions().into_iter().map(str::to_owned));
    for deletion in deletions {
        match step.reader().deletion_state(&deletion).await {
            Ok(None) => {}
            // An invalid state is a state too.
            Ok(Some(_)) | Err(keyloom_query::Error::Unreadable { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
        let now = step.reader().get_any(entity.key()).await?;
        let is_same = |now: OwnRow| now.deletion == own.deletion && now.pending == own.pending;
        if !now.is_some_and(is_same) {
            return Ok(());
        }
        let remedy = unmark(entity, &deletion).await?;
        entity.report(findings, Problem::StaleTombstone, remedy);
    }
    Ok(())
}

async fn unmark(entity: &EntityCheck<'_>, deletion: &str) -> Result<Remedy, Error> {
    if !entity.step.is_repairing() {
        return Ok(Remedy::NotRequested);
    }
    let (ctx, record) = (entity.step.write_context(), DeletionRecord::new(deletion));
    match unmark_entity(&ctx, &record, entity.key()).await {
        Ok(()) => Ok(Remedy::Repaired),
        Err(Error::Store(error)) => Err(error.into()),
        Err(_) => Ok(Remedy::Unrepairable),
    }
}
