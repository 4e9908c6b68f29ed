//! The rows of its own that an entity implies are there: guards, links, presence rows and postings.

use keyloom_model::attribute::{OWNER, PARTITION};
use keyloom_model::{FieldId, Reason, Row, UniqueId};
use keyloom_store::{Put, TransactAction};
use keyloom_value::{Condition, Item, Path};

use super::super::findings::{Findings, show_key};
use super::super::{Problem, Remedy, derived};
use super::{EntityCheck, unmarked};
use crate::error::Error;

pub(super) async fn check(
    entity: &EntityCheck<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    for row in entity.implying.rows.iter().filter(|row| row.reason != Reason::Own) {
        if entity.seen.row(&row.key).is_none_or(|found| unmarked(found) != row.item) {
            check_again(entity, row, findings).await?;
        }
    }
    Ok(())
}

/// A row that the entity implies looks wrong: reads both in one transaction, and decides.
async fn check_again(
    entity: &EntityCheck<'_>,
    row: &Row,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let keys = vec![entity.own_key().to_item(), row.key.to_item()];
    let at_once = entity.step.at_once(keys).await?;
    let [Some(now), found] = &at_once[..] else { return Ok(()) };
    if !entity.is_same(now) || found.as_ref().is_some_and(|found| unmarked(found) == row.item) {
        return Ok(());
    }
    let problem = match row.reason {
        Reason::Own => return Ok(()),
        Reason::Guard(unique) => {
            let unique = unique_name(entity, unique);
            if let Some(other) = other_owner(entity, row, found.as_ref()).await? {
                let problem = Problem::NotUnique { unique, other };
                entity.report(findings, problem, entity.step.repair.for_a_person());
                return Ok(());
            }
            Problem::GuardMissing { unique }
        }
        Reason::Link(field) => Problem::LinkMissing { field: field_name(entity, field) },
        Reason::Presence => Problem::PresenceMissing { presence: show_key(&row.item) },
        Reason::Posting => Problem::GroupMissing { group: show_key(&row.item) },
    };
    let remedy = write(entity, row, found.as_ref()).await?;
    entity.report(findings, problem, remedy);
    Ok(())
}

/// The id of another entity that a guard belongs to, and that implies it too.
async fn other_owner(
    entity: &EntityCheck<'_>,
    row: &Row,
    found: Option<&Item>,
) -> Result<Option<String>, Error> {
    let owner = found.and_then(|found| entity.step.expected().owner_of(found));
    match owner.filter(|owner| owner.key != *entity.key()) {
        Some(owner) if derived::may_imply(entity.step, &owner.key, &row.item).await? => {
            Ok(Some(owner.key.id))
        }
        Some(_) | None => Ok(None),
    }
}

/// Writes a row that the entity implies, if the entity is unchanged; a guard, if it still belongs to
/// whom it was found to.
async fn write(entity: &EntityCheck<'_>, row: &Row, found: Option<&Item>) -> Result<Remedy, Error> {
    let mut put = Put::new(entity.step.table(), row.item.clone());
    if let Reason::Guard(_) = row.reason {
        put = put.when(match found.and_then(|found| found.get(OWNER)) {
            Some(owner) => Condition::equal(Path::from(OWNER), owner.clone()),
            None => Condition::missing(OWNER),
        });
    }
    let if_unchanged = entity.step.if_unchanged(entity.own());
    entity.step.repair(vec![if_unchanged, TransactAction::Put(put)]).await
}

fn field_name(entity: &EntityCheck<'_>, field: FieldId) -> String {
    let model = entity.step.schema.model().entity(entity.key().entity);
    model.fields.get(field.index()).map(|field| field.name.clone()).unwrap_or_default()
}

fn unique_name(entity: &EntityCheck<'_>, unique: UniqueId) -> String {
    let kind = entity.key().entity;
    match unique.index() < entity.step.schema.model().entity(kind).uniques.len() {
        true => entity.step.layout().uniques().name(kind, unique).to_owned(),
        false => PARTITION.to_owned(),
    }
}
