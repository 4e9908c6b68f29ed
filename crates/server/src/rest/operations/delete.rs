//! `DELETE /tasks/{id}`: deletes an entity and its dependents.

use hyper::{Method, StatusCode};
use keyloom::Change;
use keyloom_model::{Entity, EntityId, Grantees, Model};

use super::super::call::{Call, Reply};
use super::super::openapi::{
    Answer, AnswerHeader, CHANGE, Description, Group, TakenId, if_match, with_article,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changing::{expecting, transact};

#[derive(Debug)]
struct Delete(EntityId);

pub(super) fn delete(id: EntityId, entity: &Entity) -> Operation {
    let name = format!("delete_{}", entity.name);
    Operation::new(name, Method::DELETE, Segment::path_of_one(entity), Delete(id))
}

impl Action for Delete {
    fn access(&self) -> Access {
        Access::Data(Role::Writer)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.0)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        vec![&entity.access.delete]
    }

    fn describe(&self, model: &Model) -> Description {
        let one = with_article(&model.entity(self.0).name);
        let details = "The fields that refer to it say what happens to entities that do.";
        let deleted = Answer::empty(204, "Deleted.").with(&[AnswerHeader::Replayed]);
        let own = [Kind::NotFound, Kind::VersionMismatch, Kind::InUse];
        Description {
            details: vec![details.to_owned()],
            headers: vec![if_match()],
            answers: vec![deleted],
            problems: [CHANGE, &own].concat(),
            is_change: true,
            ids: vec![TakenId::in_path(self.0)],
            ..Description::new(Group::Entity(self.0), format!("Delete {one}"))
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, state.model.entity(self.0)))
    }
}

async fn run(call: &Call, entity: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let change = Change::delete(&entity.name, call.value(0));
    let done = transact(call, vec![expecting(call, entity, change).await?]).await?;
    Ok(done.reply(Reply::empty(StatusCode::NO_CONTENT)))
}
