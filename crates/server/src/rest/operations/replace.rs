//! `PUT /tasks/{id}`: replaces an entity, or creates it if clients choose the ids.

use hyper::{Method, StatusCode};
use keyloom::{Change, Error, IdProblem, Record};
use keyloom_model::{Entity, EntityId, Grantees, IdSource, Model};
use serde_json::json;

use super::super::call::{Call, Reply, Tags};
use super::super::example;
use super::super::openapi::{
    Answer, AnswerHeader, BODY, Body, CHANGE, Description, Group, TakenId, VERSIONED, header,
    if_match, of_new, reference, with_article,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changing::{expecting, location, transact};

#[derive(Debug)]
struct Replace(EntityId);

pub(super) fn replace(id: EntityId, entity: &Entity) -> Operation {
    let name = format!("replace_{}", entity.name);
    Operation::new(name, Method::PUT, Segment::path_of_one(entity), Replace(id))
}

impl Action for Replace {
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
        let one = with_article(&entity.name);
        let mut example = example::example(model, entity);
        example.as_object_mut().map(|members| members.remove("id"));
        let replaced = Answer::entity(model, self.0, 200, "Replaced.");
        let mut description = Description {
            details: vec!["Omitted fields are reset to their default or removed.".to_owned()],
            headers: vec![if_match()],
            body: Some(Body::json(reference(entity, ".replace"), Some(example))),
            answers: vec![replaced.with(&[ETag, Replayed])],
            problems: [BODY, CHANGE, VERSIONED, &of_new(entity)].concat(),
            is_change: true,
            ids: vec![TakenId::in_path(self.0)],
            ..Description::new(Group::Entity(self.0), format!("Replace {one}"))
        };
        if entity.id_source == IdSource::Given {
            description.details[0].push_str(" The entity is created if it does not exist.");
            let about = "`*`: create it only if the id is free.";
            let any = json!({ "type": "string", "enum": ["*"] });
            description.headers.push(header("If-None-Match", about, any));
            description.answers.push(Answer::created(model, self.0));
        }
        description
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, state.model.entity(self.0)))
    }
}

async fn run(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let (id, mut document) = (call.value(0), call.document()?);
    let must_be_new = call.if_none_match()? == Tags::Any && entity.id_source == IdSource::Given;
    // With `If-None-Match: *` the change itself checks that the id is free. A read here would fail a
    // repeated request with the same idempotency key.
    let before = match must_be_new {
        true => None,
        false => call.db.get(&entity.name, id).await?,
    };
    check_put(call, entity, before.as_ref())?;
    let was_there = before.is_some();
    let change = match must_be_new {
        true => {
            let named = document.insert("id", id);
            if named.is_some_and(|named| named.as_s() != Some(id)) {
                let (entity, problem) = (entity.name.clone(), IdProblem::Other);
                return Err(Error::Id { entity, problem }.into());
            }
            Change::create_item(&entity.name, document)
        }
        false => expecting(call, entity, Change::put_item(&entity.name, id, document)).await?,
    };
    let done = transact(call, vec![change]).await?;
    let reply = match was_there {
        true => Reply::record(StatusCode::OK, done.record()?),
        false => Reply::record(StatusCode::CREATED, done.record()?).at(location(entity, id)),
    };
    Ok(done.reply(reply))
}

/// Checks the conditions that are specific to `PUT`, which can create entities.
fn check_put(call: &Call, entity: &Entity, before: Option<&Record>) -> Result<(), Problem> {
    let id = call.value(0);
    let is_excluded = match (call.if_none_match()?, before) {
        (Tags::Absent, _) | (_, None) => false,
        (Tags::Any, Some(_)) => true,
        (Tags::Of(versions), Some(before)) => versions.iter().any(|v| v == before.version()),
    };
    if is_excluded {
        return Err(exists(entity, id));
    }
    let is_created = before.is_none() && entity.id_source == IdSource::Given;
    if is_created && call.if_match()? != Tags::Absent {
        let detail = format!(
            "No `{}` with the id `{id}` exists: omit `If-Match` to create it.",
            entity.name
        );
        return Err(Problem::new(Kind::VersionMismatch, detail));
    }
    Ok(())
}

fn exists(entity: &Entity, id: &str) -> Problem {
    let detail =
        format!("A `{}` with the id `{id}` exists, and `If-None-Match` excludes it.", entity.name);
    Problem::new(Kind::VersionMismatch, detail)
}
