//! The targets of an entity's references exist.

use keyloom_model::OnDelete;
use keyloom_query::DeletionState;
use keyloom_value::{Item, Value};

use super::super::expected::Target;
use super::super::findings::Findings;
use super::super::{Problem, Remedy};
use super::EntityCheck;
use crate::error::Error;
use crate::write::{Author, Intent};

pub(super) async fn check(
    entity: &EntityCheck<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    for target in entity.step.expected().targets_of(entity.own()) {
        if entity.seen.row(&target.own_key).is_some() {
            continue;
        }
        let keys = vec![entity.own_key().to_item(), target.own_key.to_item()];
        let at_once = entity.step.at_once(keys).await?;
        let [Some(now), None] = &at_once[..] else { continue };
        if entity.is_same(now) && !is_going(entity).await? {
            let remedy = settle(entity, &target).await?;
            let problem = Problem::Dangling { field: target.field, target: target.id };
            entity.report(findings, problem, remedy);
        }
    }
    Ok(())
}

/// Whether the entity is being deleted, or was: in a cycle, its target can be removed before it.
async fn is_going(entity: &EntityCheck<'_>) -> Result<bool, Error> {
    let Some(deletion) = &entity.own().deletion else { return Ok(false) };
    match entity.step.reader().deletion_state(deletion).await {
        Ok(Some(DeletionState::Sweeping)) => return Ok(true),
        Ok(_) => {}
        // An invalid state is a state too.
        Err(keyloom_query::Error::Unreadable { .. }) => return Ok(true),
        Err(error) => return Err(error.into()),
    }
    let now = entity.step.at_once(vec![entity.own_key().to_item()]).await?;
    Ok(now.first().is_none_or(Option::is_none))
}

/// Clears a reference whose rule is to be cleared when its target is deleted.
async fn settle(entity: &EntityCheck<'_>, target: &Target<'_>) -> Result<Remedy, Error> {
    if !entity.step.is_repairing() {
        return Ok(Remedy::NotRequested);
    }
    match target.link.on_delete {
        // Deleting entities without a target would turn one lost row into many.
        OnDelete::Refuse | OnDelete::Cascade | OnDelete::Keep => return Ok(Remedy::Unrepairable),
        OnDelete::Clear => {}
    }
    let key = entity.key().clone();
    let expected = Some(entity.own().image.version.clone());
    let patch = Item::from([(target.field.as_str(), Value::Null)]);
    let intent = Intent::Update { key, patch, expected, author: Author::Service };
    let step = entity.step;
    match step.shared.executor(step.schema).execute(&intent.into()).await {
        Ok(_) => Ok(Remedy::Repaired),
        Err(Error::Store(error)) => Err(Error::Store(error)),
        Err(_) => Ok(Remedy::Unrepairable),
    }
}
