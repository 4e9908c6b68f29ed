//! `GET /tasks/{id}`: reads an entity, with related entities if requested.

use hyper::header::ETAG;
use hyper::{Method, StatusCode};
use keyloom_model::{Entity, EntityId, Grantees, Model};

use super::super::call::{Call, Reply, Tags, tag};
use super::super::openapi::{
    Answer, AnswerHeader, Description, Group, TakenId, header, limit_of_others, only_fields,
    version_tags, with_article, with_others,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::reserved::{FIELDS, LIMIT};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changing::not_found;

#[derive(Debug)]
struct Read(EntityId);

pub(super) fn read(id: EntityId, entity: &Entity) -> Operation {
    let name = format!("read_{}", entity.name);
    Operation::new(name, Method::GET, Segment::path_of_one(entity), Read(id))
}

impl Action for Read {
    fn access(&self) -> Access {
        Access::Data(Role::Reader)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.0)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        vec![&entity.access.read]
    }

    fn describe(&self, model: &Model) -> Description {
        let one = with_article(&model.entity(self.0).name);
        let about = "Return it only if its version differs from this `ETag`.";
        let shown = Answer::read(model, self.0).with(&[AnswerHeader::ETag]);
        let mut query = vec![only_fields(model.entity(self.0))];
        query.extend(with_others(model, self.0));
        query.extend(limit_of_others(model, self.0));
        Description {
            query,
            headers: vec![header("If-None-Match", about, version_tags())],
            answers: vec![shown, Answer::not_modified()],
            problems: vec![Kind::BadParameter, Kind::NotFound],
            ids: vec![TakenId::in_path(self.0)],
            ..Description::new(Group::Entity(self.0), format!("Read {one}"))
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(&state.model, call, self.0))
    }

    fn is_query(&self) -> bool {
        true
    }

    fn is_read_of_one(&self) -> bool {
        true
    }
}

async fn run(model: &Model, call: &Call, of: EntityId) -> Result<Reply, Problem> {
    let entity = model.entity(of);
    let (id, known) = (call.value(0), call.if_none_match()?);
    // Without related entities there is nothing to limit.
    match call.has_parameter(LIMIT) && model.related(of).is_empty() {
        true => call.check_parameters(&["with", FIELDS])?,
        false => call.check_parameters(&["with", LIMIT, FIELDS])?,
    }
    let (with, limit) = (call.with(&entity.name)?, call.limit()?);
    let fields = call.fields(entity)?;
    if let Some(with) = with {
        let tree = call.db.tree(&entity.name, id, with, limit).await?;
        let tree = tree.ok_or_else(|| not_found(entity, id))?;
        // The version covers the entity only, not the related ones, so there is no 304.
        return Ok(
            Reply::json(StatusCode::OK, tree.to_json_of(&fields)).with(ETAG, tag(&tree.record))
        );
    }
    let record = call.db.get(&entity.name, id).await?.ok_or_else(|| not_found(entity, id))?;
    let is_known = match known {
        Tags::Absent => false,
        Tags::Any => true,
        Tags::Of(versions) => versions.iter().any(|version| version == record.version()),
    };
    Ok(match is_known {
        true => Reply::empty(StatusCode::NOT_MODIFIED).with(ETAG, tag(&record)),
        false => Reply::record_of(&record, &fields),
    })
}
