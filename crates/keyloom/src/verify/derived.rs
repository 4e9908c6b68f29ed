//! Derived rows, which are guards, links, presence rows and postings: the entity that they belong to
//! implies them. Their contents are verified with the entity.

use keyloom_model::attribute::OWNER;
use keyloom_model::{EntityKey, OwnRow};
use keyloom_store::{Delete, TransactAction};
use keyloom_value::{Condition, Item, Path};

use super::expected::{Expected, Owner};
use super::findings::{Findings, show_key};
use super::seen::Seen;
use super::step::Step;
use super::{Problem, Remedy};
use crate::error::Error;
use crate::system_rows::key_of;

pub(super) async fn check(
    step: &Step<'_>,
    row: &Item,
    seen: &Seen,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let Some(owner) = step.expected().owner_of(row) else {
        // The row may have been repaired since, with the entity that implies it.
        let now = step.at_once(vec![key_of(row)]).await?;
        if now.first().is_some_and(|now| now.as_ref() == Some(row)) {
            let remedy = remove(step, row).await?;
            findings.of_row(Problem::Stray { row: show_key(row) }, remedy);
        }
        return Ok(());
    };
    match seen.row(&owner.own_key).map(|own| step.layout().read_own(own)) {
        // The own row is invalid, which is a finding of its own.
        Some(Err(_)) => Ok(()),
        Some(Ok(own)) if implies(step.expected(), &own, row) => Ok(()),
        Some(Ok(_)) | None => check_again(step, &owner, row, findings).await,
    }
}

/// Whether an entity implies a row, or its own row is damaged, which is a finding of its own.
pub(super) async fn may_imply(
    step: &Step<'_>,
    owner: &EntityKey,
    row: &Item,
) -> Result<bool, Error> {
    match step.reader().get_any(owner).await {
        Ok(own) => Ok(own.is_some_and(|own| implies(step.expected(), &own, row))),
        Err(keyloom_query::Error::Unreadable { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn implies(expected: Expected<'_>, own: &OwnRow, row: &Item) -> bool {
    let Ok(rows) = expected.rows_of(own) else { return true };
    rows.iter().any(|implied| key_of(&implied.item) == key_of(row))
}

/// The entity does not seem to imply the row: reads both in one transaction, and decides.
async fn check_again(
    step: &Step<'_>,
    owner: &Owner,
    row: &Item,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let keys = vec![owner.own_key.to_item(), key_of(row)];
    let at_once = step.at_once(keys).await?;
    let [own, now] = &at_once[..] else { return Ok(()) };
    // An own row that is invalid is a finding of its own.
    let own = own.as_ref().map(|own| step.layout().read_own(own));
    let Ok(own) = own.transpose() else { return Ok(()) };
    let now = now.as_ref().filter(|now| now.get(OWNER) == row.get(OWNER));
    let Some(now) = now else { return Ok(()) };
    if own.as_ref().is_some_and(|own| implies(step.expected(), own, now)) {
        return Ok(());
    }
    let condition = match &own {
        Some(own) => step.if_unchanged(own),
        None => step.if_absent(&owner.own_key),
    };
    let remedy = step.repair(vec![condition, removal(step, row)]).await?;
    findings.of_entity(&owner.key, Problem::LeftOver { row: show_key(row) }, remedy);
    Ok(())
}

/// Removes a row that nothing implies.
pub(super) async fn remove(step: &Step<'_>, row: &Item) -> Result<Remedy, Error> {
    step.repair(vec![removal(step, row)]).await
}

/// Removes a row, if it still belongs to the same entity.
fn removal(step: &Step<'_>, row: &Item) -> TransactAction {
    let unchanged = match row.get(OWNER) {
        Some(owner) => Condition::equal(Path::from(OWNER), owner.clone()),
        None => Condition::missing(OWNER),
    };
    TransactAction::Delete(Delete::new(step.table(), key_of(row)).when(unchanged))
}
