//! An entity that needs an ordinal has its own.

use super::super::findings::Findings;
use super::super::{Problem, Remedy};
use super::EntityCheck;
use crate::error::Error;
use crate::write::{Outcome, TombstoneChange, Transition};

pub(super) async fn check(
    entity: &EntityCheck<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let (step, own) = (entity.step, entity.own());
    let kind = step.schema.model().entity(entity.key().entity);
    // The backfill gives older rows their ordinals.
    let is_old = own.revision < step.layout().revision()
        && step.schema.pending.entities.contains(&kind.stored);
    if !kind.has_ordinals() || is_old {
        return Ok(());
    }
    let problem = match own.image.ordinal {
        None => Problem::NumberMissing,
        Some(ordinal) if entity.seen.owns_ordinal(step, entity.key(), ordinal) => return Ok(()),
        Some(ordinal) => match other_with(entity, ordinal).await? {
            None => return Ok(()),
            Some(other) => Problem::NumberTaken { other },
        },
    };
    if step.is_unchanged(own).await? {
        let remedy = reassign(entity).await?;
        entity.report(findings, problem, remedy);
    }
    Ok(())
}

/// Returns the id of another entity with the ordinal. The entity with the least id keeps it.
async fn other_with(entity: &EntityCheck<'_>, ordinal: u64) -> Result<Option<String>, Error> {
    let key = entity.key();
    let reader = entity.step.reader();
    let others = match reader.numbered(key.entity, key.tenant.as_ref(), ordinal).await {
        // An own row is invalid, which is a finding of its own.
        Err(keyloom_query::Error::Unreadable { .. }) => return Ok(None),
        others => others?,
    };
    let mut ids = others.into_iter().map(|other| other.image.key.id);
    Ok(ids.find(|id| *id < key.id))
}

/// Gives the entity a new ordinal.
async fn reassign(entity: &EntityCheck<'_>) -> Result<Remedy, Error> {
    if !entity.step.is_repairing() {
        return Ok(Remedy::NotRequested);
    }
    let (ctx, own) = (entity.step.write_context(), entity.own());
    let mut after = entity.step.schema.layouts.upgraded(own.clone());
    after.ordinal = None;
    let mut transition = Transition::new(entity.key().clone(), Some(own.clone()), Some(after));
    ctx.assign_ordinal(&mut transition).await?;
    transition.tombstones = TombstoneChange::Keep;
    match ctx.commit(&[transition], &[]).await? {
        Outcome::Done => Ok(Remedy::Repaired),
        Outcome::Changed | Outcome::UniqueViolation(_) | Outcome::TargetGone { .. } => {
            Ok(Remedy::Changed)
        }
    }
}
