//! `GET /projects/{id}/with/issues`: a page of the children of an entity.

use hyper::Method;
use keyloom::Page;
use keyloom_model::{Entity, EntityId, Grantees, Model};

use super::super::call::{Call, Reply};
use super::super::openapi::{
    Answer, Description, Group, TakenId, cursor, limit, only_fields, spoken, with_article,
    with_others,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::reserved::{CURSOR, FIELDS, LIMIT};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changing::not_found;
use super::page::{PageParts, page};

#[derive(Debug)]
struct Children {
    parent: EntityId,
    child: EntityId,
}

pub(super) fn children(
    model: &Model,
    parent: EntityId,
    entity: &Entity,
) -> impl Iterator<Item = Operation> {
    model.children(parent).into_iter().map(move |(relation, child)| {
        let name = format!("children_{relation}_of_{}", entity.name);
        let below = vec![Segment::text("with"), Segment::text(&relation)];
        let path = [Segment::path_of_one(entity), below].concat();
        Operation::new(name, Method::GET, path, Children { parent, child })
    })
}

impl Action for Children {
    fn access(&self) -> Access {
        Access::Data(Role::Reader)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.child)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        vec![&entity.access.read]
    }

    fn describe(&self, model: &Model) -> Description {
        let child = spoken(&model.entity(self.child).name);
        let parent = with_article(&model.entity(self.parent).name);
        let mut query = vec![limit(20, "Maximum number of results."), cursor()];
        query.push(only_fields(model.entity(self.child)));
        query.extend(with_others(model, self.child));
        Description {
            details: vec!["Ordered by id.".to_owned()],
            query,
            answers: vec![Answer::page(model, self.child)],
            problems: vec![Kind::BadParameter, Kind::BadCursor, Kind::NotFound],
            ids: vec![TakenId::in_path(self.parent)],
            ..Description::new(
                Group::Entity(self.parent),
                format!("List the {child} entities of {parent}"),
            )
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        let (parent, child) = (state.model.entity(self.parent), state.model.entity(self.child));
        Box::pin(run(call, parent, child))
    }

    fn is_query(&self) -> bool {
        true
    }

    fn takes_several_reads(&self, call: &Call) -> bool {
        call.has_parameter("with")
    }
}

async fn run(call: &Call, parent: &Entity, child: &Entity) -> Result<Reply, Problem> {
    call.check_parameters(&[LIMIT, CURSOR, "with", FIELDS])?;
    let id = call.value(0);
    let span = (call.limit()?.unwrap_or(20), call.parameter(CURSOR)?);
    let found = call.db.children(&parent.name, id, Some(&child.name), span).await?;
    let Page { items, next, .. } = found.ok_or_else(|| not_found(parent, id))?;
    page(call, child, PageParts { items, next, ..PageParts::default() }).await
}
