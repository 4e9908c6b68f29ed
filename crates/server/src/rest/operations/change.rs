//! `PATCH /tasks/{id}`: changes fields of an entity.

use hyper::{Method, StatusCode};
use keyloom::Change as EntityChange;
use keyloom_model::{
    Entity, EntityId, Field, FieldAccess, FieldId, FieldOrigin, FieldType, Grantees, Model, Tenancy,
};
use serde_json::{Map, Value as Json};

use super::super::call::{Call, JSON, Reply};
use super::super::example;
use super::super::openapi::{
    Answer, AnswerHeader, BODY, Body, CHANGE, Description, Group, TakenId, VERSIONED, if_match,
    of_document, reference, with_article,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::Problem;
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changing::{expecting, transact};

pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";

#[derive(Debug)]
struct Change(EntityId);

pub(super) fn change(id: EntityId, entity: &Entity) -> Operation {
    let name = format!("change_{}", entity.name);
    Operation::new(name, Method::PATCH, Segment::path_of_one(entity), Change(id))
}

impl Action for Change {
    fn access(&self) -> Access {
        Access::Data(Role::Writer)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.0)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        vec![&entity.access.update]
    }

    fn describe(&self, model: &Model) -> Description {
        use AnswerHeader::{ETag, Replayed};
        let entity = model.entity(self.0);
        let body = Body::json(reference(entity, ".patch"), Some(first_field(model, entity)));
        let changed = Answer::entity(model, self.0, 200, "Updated.");
        let details = "A merge patch (RFC 7396): `null` removes a field, omitted fields keep their \
                       value. `{\"$add\": 5}` adds to a number, `{\"$append\": [...]}` to a list: \
                       of many requests that do so at the same time, none is lost.";
        Description {
            details: vec![details.to_owned()],
            headers: vec![if_match()],
            body: Some(Body { media_types: vec![JSON, MERGE_PATCH], ..body }),
            answers: vec![changed.with(&[ETag, Replayed])],
            problems: [BODY, CHANGE, VERSIONED, &of_document(entity)].concat(),
            is_change: true,
            ids: vec![TakenId::in_path(self.0)],
            ..Description::new(
                Group::Entity(self.0),
                format!("Change fields of {}", with_article(&entity.name)),
            )
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, state.model.entity(self.0)))
    }
}

async fn run(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = EntityChange::update_item(&entity.name, call.value(0), call.document()?);
    let done = transact(call, vec![expecting(call, entity, change).await?]).await?;
    Ok(done.reply(Reply::record(StatusCode::OK, done.record()?)))
}

/// A patch of one field as an example: one that a person would change, if there is one.
pub(super) fn first_field(model: &Model, entity: &Entity) -> Json {
    let mut shown = example::shown(model, entity);
    let Some(members) = shown.as_object_mut() else { return shown };
    let is_plain = |(id, field): &(FieldId, &Field)| {
        let is_ref = matches!(field.of, FieldType::Ref(..));
        let is_set =
            field.origin == FieldOrigin::Declared && field.access == FieldAccess::ReadWrite;
        is_set && !is_ref && entity.tenancy != Tenancy::Own(*id)
    };
    let mut fields = entity.fields().filter(is_plain);
    let patch = fields.find_map(|(_, field)| members.remove_entry(&field.name));
    Json::Object(Map::from_iter(patch))
}
