//! All operations, each in a file of its own. To add one, write the file and add it to [`all`].

mod backup_json;
mod batch;
mod board;
mod bulk;
mod bulk_json;
mod cancel_operation;
mod change;
mod changes;
mod changing;
mod children;
mod compare_model;
mod count;
mod count_description;
mod create;
mod create_backup;
mod create_token;
mod delete;
mod entity_rows;
mod entries;
mod health;
mod html_page;
mod job;
mod list;
mod list_backups;
mod list_changes;
mod list_operations;
mod list_tokens;
mod metrics;
mod openapi;
mod own;
mod page;
mod parts;
mod rank;
mod ranking;
mod read;
mod read_model;
mod read_operation;
mod ready;
mod replace;
mod revoke_token;
mod transaction;
mod values;
mod verify;

use std::collections::BTreeSet;

use hyper::Method;
use keyloom::bulk::BulkKind;
use keyloom_model::{Entity, EntityId, Model};

pub(super) use compare_model::TEXT_LENGTH_MAX;
pub(super) use own::own;
pub(super) use transaction::Transaction;

use super::operation::Operation;
use super::path_queries::PathQueries;
use super::segment::Segment;

/// All operations of a model except closed ones, then those of the server itself.
///
/// # Errors
///
/// If a closed operation does not exist.
pub(crate) fn all(model: &Model, closed: &[&str]) -> Result<Vec<Operation>, String> {
    let of_entities = model.entities().flat_map(|(id, entity)| of_entity(model, id, entity));
    let mut all: Vec<Operation> = of_entities.collect();
    let own_names = of_server(vec![]).into_iter().map(|operation| operation.name);
    let mut taken: BTreeSet<String> = own_names.collect();
    for operation in &mut all {
        operation.name = free_name(&operation.name, &mut taken);
    }
    let is_missing = |name: &&&str| all.iter().all(|operation| operation.name != **name);
    if let Some(name) = closed.iter().find(is_missing) {
        return Err(format!("Cannot close `{name}`: no such operation."));
    }
    let is_closed = |operation: &Operation| closed.contains(&operation.name.as_str());
    let (closed, mut all): (Vec<_>, Vec<_>) = all.into_iter().partition(is_closed);
    all.retain(|other| !closed.iter().any(|closed| is_bulk_of(other, closed)));
    let followed = followed(&all, model);
    all.extend(of_server(followed));
    Ok(all)
}

fn of_entity(model: &Model, id: EntityId, entity: &Entity) -> Vec<Operation> {
    let mut all = match model.jobs() == Some(id) {
        true => {
            let steps = job::JobStep::ALL.map(|step| job::job(id, entity, step));
            [read::read(id, entity), delete::delete(id, entity)].into_iter().chain(steps).collect()
        }
        false => vec![
            create::create(id, entity),
            read::read(id, entity),
            replace::replace(id, entity),
            change::change(id, entity),
            delete::delete(id, entity),
        ],
    };
    all.extend(children::children(model, id, entity));
    for (path, queries) in PathQueries::by_path(id, entity) {
        let values = values::values(entity, &path, &queries);
        all.extend(bulk::bulk(model, entity, (&path, &queries)));
        all.push(list::list(entity, path, queries));
        all.extend(values);
    }
    all.extend(count::counts(id, entity));
    for (board_id, board) in entity.boards() {
        all.push(board::board(id, board_id, board));
        all.push(rank::rank(id, board_id, board));
    }
    all
}

fn of_server(followed: Vec<EntityId>) -> Vec<Operation> {
    vec![
        transaction::transaction(),
        batch::batch(),
        changes::changes(followed.clone()),
        list_changes::list_changes(followed),
        list_operations::list_operations(),
        read_operation::read_operation(),
        cancel_operation::cancel_operation(),
        list_tokens::list_tokens(),
        create_token::create_token(),
        revoke_token::revoke_token(),
        read_model::read_model(),
        compare_model::compare_model(),
        entity_rows::entity_rows(),
        list_backups::list_backups(),
        create_backup::create_backup(),
        verify::verify(),
        metrics::metrics(),
        health::health(),
        ready::ready(),
        openapi::openapi(),
        html_page::docs(),
        html_page::console(),
    ]
}

/// Whether an operation does to all entities of a list what a closed one does to a single one, or uses
/// the list that a closed one reads.
fn is_bulk_of(other: &Operation, closed: &Operation) -> bool {
    let Some((kind, entity)) = other.action.bulk() else { return false };
    if closed.action.bulk().is_some() {
        return false;
    }
    let method = match kind {
        BulkKind::Update => Method::PATCH,
        BulkKind::Delete => Method::DELETE,
    };
    let is_of_one = closed.path.last() == Some(&Segment::parameter("id"));
    let does_the_same =
        closed.action.entity() == Some(entity) && closed.method == method && is_of_one;
    let reads_the_list = closed.action.lists().is_some() && closed.path == other.path;
    does_the_same || reads_the_list
}

/// The entities whose changes can be followed: those that can be read one by one.
fn followed(operations: &[Operation], model: &Model) -> Vec<EntityId> {
    let reads = |operation: &&Operation| operation.action.is_read_of_one();
    let read = operations.iter().filter(reads).filter_map(|operation| operation.action.entity());
    // Jobs belong to all tenants.
    read.filter(|id| model.jobs() != Some(*id)).collect()
}

/// The name, with a number if it is in use: the list `b_c` of `a` and the list `c` of `a_b` would share
/// one, as would the server's own `create_token` and that of an entity `token`.
fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| taken.insert(name.clone())).unwrap_or_else(|| name.to_owned())
}
