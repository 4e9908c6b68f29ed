//! `POST /tasks`: creates an entity.

use hyper::{Method, StatusCode};
use keyloom::Change;
use keyloom_model::{Entity, EntityId, FieldType, Grantees, Model};

use super::super::call::{Call, Reply};
use super::super::example;
use super::super::openapi::{
    Answer, BODY, Body, CHANGE, Description, Group, TakenId, of_new, reference, with_article,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::Problem;
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changing::{location, transact};

#[derive(Debug)]
struct Create(EntityId);

pub(super) fn create(id: EntityId, entity: &Entity) -> Operation {
    let name = format!("create_{}", entity.name);
    Operation::new(name, Method::POST, Segment::path_of(entity), Create(id))
}

impl Action for Create {
    fn access(&self) -> Access {
        Access::Data(Role::Writer)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.0)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        vec![&entity.access.create]
    }

    fn describe(&self, model: &Model) -> Description {
        let entity = model.entity(self.0);
        let example = example::example(model, entity);
        // Targets of its references are created before it.
        let ids = entity.fields().filter_map(|(_, field)| match field.of {
            FieldType::Ref(of, _) => {
                Some(TakenId { of, location: "requestBody", name: field.name.clone() })
            }
            _ => None,
        });
        Description {
            body: Some(Body::json(reference(entity, ".create"), Some(example))),
            answers: vec![Answer::created(model, self.0)],
            problems: [BODY, CHANGE, &of_new(entity)].concat(),
            is_change: true,
            creates: Some(self.0),
            ids: ids.collect(),
            ..Description::new(
                Group::Entity(self.0),
                format!("Create {}", with_article(&entity.name)),
            )
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, state.model.entity(self.0)))
    }
}

async fn run(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = Change::create_item(&entity.name, call.document()?);
    let done = transact(call, vec![change]).await?;
    let record = done.record()?;
    let reply = Reply::record(StatusCode::CREATED, record).at(location(entity, record.id()));
    Ok(done.reply(reply))
}
