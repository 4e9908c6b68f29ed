//! The index keys of an entity, which are attributes of its own row, match its fields.

use keyloom_model::attribute::DELETION;
use keyloom_model::{Reason, Slot};
use keyloom_store::{Put, TransactAction};
use keyloom_value::{Item, Name};

use super::super::Problem;
use super::super::findings::Findings;
use super::{EntityCheck, unmarked};
use crate::error::Error;
use crate::write::as_read;

pub(super) async fn check(
    entity: &EntityCheck<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let own_row = entity.implying.rows.iter().find(|row| row.reason == Reason::Own);
    let Some(expected) = own_row.map(|row| &row.item) else { return Ok(()) };
    if unmarked(entity.row) == *expected {
        return Ok(());
    }
    let mut item = expected.clone();
    if let Some(deletion) = &entity.own().deletion {
        item.insert(DELETION, deletion.as_str());
    }
    let put = Put::new(entity.step.table(), item).when(as_read(entity.own()));
    let remedy = entity.step.repair(vec![TransactAction::Put(put)]).await?;
    let problem = Problem::WrongPlaces { lists: wrong_lists(entity, expected) };
    entity.report(findings, problem, remedy);
    Ok(())
}

/// The lists and leaderboards in which the entity has another index key, and `expires`.
fn wrong_lists(entity: &EntityCheck<'_>, expected: &Item) -> Vec<String> {
    let differs = |slot: Slot| {
        let differs = |name: Name| entity.row.get(name.as_str()) != expected.get(name.as_str());
        differs(slot.partition()) || differs(slot.sort())
    };
    let (layout, kind) = (entity.step.layout(), entity.key().entity);
    let model = layout.model().entity(kind);
    let lists = model.lists().filter(|(id, _)| {
        differs(layout.lists().slot(kind, *id))
            || layout.facets().slot(kind, *id).is_some_and(differs)
    });
    let mut wrong: Vec<String> = lists.map(|(_, list)| list.name.clone()).collect();
    let boards = model.boards().filter(|(_, board)| board.ranks_entities());
    let boards = boards.filter(|(id, _)| differs(layout.leaderboards().slot(kind, *id)));
    wrong.extend(boards.map(|(_, board)| board.name.clone()));
    if layout.expiry().slot(kind).is_some_and(differs) {
        wrong.push("expires".to_owned());
    }
    wrong
}
