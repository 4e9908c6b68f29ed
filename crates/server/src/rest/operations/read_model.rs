//! `GET /model`: the model that is served.

use hyper::{Method, StatusCode};
use keyloom_model::{Direction, Entity, EntityId, FieldId, FieldType, Model, declarations};
use serde_json::{Value as Json, json};

use super::super::access;
use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, served_model};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;

#[derive(Debug)]
struct ReadModel;

pub(super) fn read_model() -> Operation {
    Operation::new("read_model".to_owned(), Method::GET, Segment::path("/model"), ReadModel)
}

impl Action for ReadModel {
    fn access(&self) -> Access {
        Access::Role(Role::Reader)
    }

    fn describe(&self, _: &Model) -> Description {
        Description {
            details: vec![
                "Its text, how its entities are related and queried, and the operations that you may run."
                    .to_owned(),
            ],
            answers: vec![Answer::json(200, "The model.", served_model())],
            problems: vec![Kind::BadParameter],
            ..Description::new(Group::Service, "Read the model")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, state))
    }
}

async fn run(call: &Call, State { model, operations, .. }: &State) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let text = call.db.model_text().await?;
    let mut declarations = declarations(&text);
    let entities: Vec<Json> = model
        .entities()
        .map(|(_, entity)| {
            let declaration = declarations.remove(&entity.name).unwrap_or_default();
            shown(model, entity, &declaration)
        })
        .collect();
    let is_allowed = |operation: &&Operation| access::check(&call.caller, operation, model).is_ok();
    let allowed = operations.iter().filter(is_allowed).map(|operation| &operation.name);
    let allowed: Vec<&String> = allowed.collect();
    let caller = &call.caller;
    let tenant = caller.tenant.as_ref().filter(|_| caller.is_bound);
    let answer =
        json!({ "text": text, "entities": entities, "operations": allowed, "tenant": tenant });
    Ok(Reply::json(StatusCode::OK, answer.to_string()))
}

/// An entity: what is declared of it, without its rules, and its part of the text.
fn shown(model: &Model, entity: &Entity, declaration: &str) -> Json {
    let names = |fields: &[FieldId]| -> Vec<&str> {
        fields.iter().map(|field| entity.field(*field).name.as_str()).collect()
    };
    let fields = entity.fields.iter().map(|field| {
        let target = target(&field.of).map(|target| model.entity(target).name.as_str());
        json!({ "name": field.name, "type": field.of.name(), "target": target })
    });
    let lists = entity.lists.iter().map(|list| {
        let order = list.order.iter().map(|order| {
            let sign = if order.direction == Direction::Descending { "-" } else { "" };
            format!("{sign}{}", entity.field(order.field).name)
        });
        json!({
            "name": list.name, "by": names(&list.by), "order": order.collect::<Vec<_>>(),
            "facets": names(&list.facets),
        })
    });
    let uniques = entity.uniques.iter().map(|unique| {
        let fields = unique.within.iter().chain(&unique.fields).copied();
        names(&fields.collect::<Vec<FieldId>>())
    });
    let counts =
        entity.counts.iter().map(|count| json!({ "name": count.name, "by": names(&count.by) }));
    let boards = entity.boards.iter().map(|board| board.name.as_str());
    json!({
        "name": entity.name,
        "path": entity.path,
        "parent": entity.parent.map(|field| entity.field(field).name.as_str()),
        "has_tenant": entity.has_tenant(),
        "declaration": declaration,
        "fields": fields.collect::<Vec<_>>(),
        "lists": lists.collect::<Vec<_>>(),
        "uniques": uniques.collect::<Vec<_>>(),
        "counts": counts.collect::<Vec<_>>(),
        "boards": boards.collect::<Vec<_>>(),
    })
}

/// The entity that a field refers to: once, or any number of times in a list.
fn target(of: &FieldType) -> Option<EntityId> {
    match of {
        FieldType::Ref(target, _) => Some(*target),
        FieldType::List(of, _) => target(of),
        FieldType::Text(_)
        | FieldType::Int(_)
        | FieldType::Number(_)
        | FieldType::Bool
        | FieldType::Time
        | FieldType::Bytes(_)
        | FieldType::Any
        | FieldType::Tags
        | FieldType::Enum(_)
        | FieldType::Map(..) => None,
    }
}
