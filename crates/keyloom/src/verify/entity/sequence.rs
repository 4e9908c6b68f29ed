//! The last number of a sequence is no less than that of the entity, so that none is assigned twice.

use keyloom_value::Item;

use super::super::Problem;
use super::super::expected::Numbered;
use super::super::findings::Findings;
use super::EntityCheck;
use crate::error::Error;
use crate::write::last_number;

pub(super) async fn check(
    entity: &EntityCheck<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let step = entity.step;
    let numbered = step.expected().number_of(entity.own());
    let Some(Numbered { number, sequence }) = numbered else { return Ok(()) };
    // A program may have set it; a sequence begins at 1.
    if number < 1 {
        return Ok(());
    }
    let reaches = |row: &Item| last_number(row).is_ok_and(|last| last >= number);
    if entity.seen.row(&sequence).is_some_and(reaches) {
        return Ok(());
    }
    let at_once = step.at_once(vec![entity.own_key().to_item(), sequence.to_item()]).await?;
    let [Some(now), found] = &at_once[..] else { return Ok(()) };
    if !entity.is_same(now) || found.as_ref().is_some_and(reaches) {
        return Ok(());
    }
    let write = step.write_context().write_last(&sequence, found.as_ref(), number);
    let remedy = step.repair(vec![write]).await?;
    entity.report(findings, Problem::SequenceBehind { number }, remedy);
    Ok(())
}
