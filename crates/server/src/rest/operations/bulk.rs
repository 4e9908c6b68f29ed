//! `PATCH /tasks?…` and `DELETE /tasks?…`: changes or deletes all entities of a list, in the background.

use hyper::{Method, StatusCode};
use keyloom::bulk::{Bulk, BulkKind};
use keyloom_model::{Entity, EntityId, Model};

use super::super::call::{Call, JSON, Reply, bad_parameter};
use super::super::openapi::{
    Answer, AnswerHeader, BODY, Body, CHANGE, Description, Group, PathValues, component, flag,
    of_queries, of_searches, of_tags, reference, spoken,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::path_queries::PathQueries;
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::bulk_json::{example, to_json};
use super::change::{MERGE_PATCH, first_field};
use super::changing::{REPLAYED, separate_key};

/// Confirms that a request without conditions is meant.
const ALL: &str = "$all";

#[derive(Debug)]
struct BulkChange {
    queries: PathQueries,
    kind: BulkKind,
}

/// The bulk changes of the lists of a path. Jobs cannot be changed by clients, but deleted.
pub(super) fn bulk(
    model: &Model,
    entity: &Entity,
    (path, queries): (&[Segment], &PathQueries),
) -> Vec<Operation> {
    let Some(first) = queries.lists.first() else { return vec![] };
    let list = &entity.list(*first).name;
    let operation = |kind: BulkKind| {
        let (verb, method) = match kind {
            BulkKind::Update => ("change", Method::PATCH),
            BulkKind::Delete => ("delete", Method::DELETE),
        };
        let name = format!("{verb}_all_{}_{list}", entity.name);
        // A unique value names one entity: that has a path of its own.
        let queries = PathQueries { uniques: vec![], ..queries.clone() };
        Operation::new(name, method, path.to_vec(), BulkChange { queries, kind })
    };
    let kinds: &[BulkKind] = match model.jobs() == Some(queries.entity) {
        true => &[BulkKind::Delete],
        false => &[BulkKind::Update, BulkKind::Delete],
    };
    kinds.iter().map(|kind| operation(*kind)).collect()
}

impl Action for BulkChange {
    fn access(&self) -> Access {
        Access::Role(Role::Writer)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.queries.entity)
    }

    fn bulk(&self) -> Option<(BulkKind, EntityId)> {
        Some((self.kind, self.queries.entity))
    }

    fn describe(&self, model: &Model) -> Description {
        let BulkChange { queries, kind } = self;
        let entity = model.entity(queries.entity);
        let mut query = of_queries(entity, queries);
        query.extend(of_tags(entity, queries));
        query.extend(of_searches(entity, queries));
        query.push(flag(ALL, "Required, as `true`, if there are no conditions."));
        let (what, body, of_body) = match kind {
            BulkKind::Update => {
                let example = Some(first_field(model, entity));
                let body = Body::json(reference(entity, ".patch.all"), example);
                let media_types = vec![JSON, MERGE_PATCH];
                ("Change all", Some(Body { media_types, ..body }), BODY)
            }
            BulkKind::Delete => ("Delete all", None, &[][..]),
        };
        let started =
            Answer::json(202, "Started.", component("BulkOperation")).with_example(example(entity));
        Description {
            details: details(*kind),
            path_values: PathValues { fields_of: Some(queries.entity), other: None },
            query,
            body,
            answers: vec![started.with(&[AnswerHeader::Location, AnswerHeader::Replayed])],
            problems: [of_body, CHANGE, &[Kind::Building]].concat(),
            is_change: true,
            ..Description::new(
                Group::Entity(queries.entity),
                format!("{what} {} entities of a list", spoken(&entity.name)),
            )
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, state.model.entity(self.queries.entity), self))
    }
}

fn details(kind: BulkKind) -> Vec<String> {
    let each = match kind {
        BulkKind::Update => "The patch is applied to each entity that the conditions select.",
        BulkKind::Delete => "Each entity that the conditions select is deleted.",
    };
    let once = "Each is changed once, as by a request of its own, if it still matches when it is \
                reached. Refused changes are counted and do not stop the others.";
    let follow = "The response names an operation: `GET /operations/{id}` returns its progress.";
    [each, once, follow].map(str::to_owned).to_vec()
}

async fn run(call: &Call, entity: &Entity, action: &BulkChange) -> Result<Reply, Problem> {
    let list = action.queries.requested_list(entity, call, &[ALL])?;
    check_meant(call, action)?;
    let bulk = match action.kind {
        BulkKind::Update => list.query.update_all_item(call.document()?),
        BulkKind::Delete => list.query.delete_all(),
    };
    let bulk = bulk.from_client();
    let started = with_key(call, bulk)?.start().await?;
    let operation = &started.operation;
    let reply = Reply::json(StatusCode::ACCEPTED, to_json(operation).to_string())
        .at(format!("/operations/{}", operation.id));
    Ok(if started.is_replayed { reply.with(REPLAYED, "true") } else { reply })
}

fn with_key(call: &Call, bulk: Bulk) -> Result<Bulk, Problem> {
    Ok(match call.idempotency_key()? {
        Some(key) => bulk.idempotent(&separate_key(call, &key)),
        None => bulk,
    })
}

/// Refuses a request without conditions, unless it says that all are meant: a forgotten one would
/// change everything.
fn check_meant(call: &Call, action: &BulkChange) -> Result<(), Problem> {
    let is_all = call.parsed(ALL, "`true` or `false`")?.unwrap_or(false);
    let is_given = call.parameters.iter().any(|(name, _)| name != ALL);
    if is_all || is_given || !action.queries.in_path.is_empty() {
        return Ok(());
    }
    Err(bad_parameter(
        "This changes every entity of the list: give conditions, or confirm it with `$all=true`."
            .to_owned(),
    ))
}
