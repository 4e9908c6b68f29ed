//! `GET /boards/popular/{of}`: rank and score of an entry of a leaderboard.

use hyper::{Method, StatusCode};
use keyloom_model::{Board, BoardId, Entity, EntityId, Grantees, Model};

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, PathValues, explained, spoken};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::reserved::FIELDS;
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::entries::{EntityPart, entity_parameters, entries, entry_schema};
use super::ranking::{
    by_parameter, details, fields, not_on_it, of_value, ranked_value, settling_schema, values_by,
};

#[derive(Debug)]
struct Rank(EntityId, BoardId);

pub(super) fn rank(entity: EntityId, id: BoardId, board: &Board) -> Operation {
    let board_path = [Segment::text("boards"), Segment::text(&board.name)];
    let path = [&board_path[..], &[Segment::parameter("of")]].concat();
    Operation::new(format!("rank_{}", board.name), Method::GET, path, Rank(entity, id))
}

impl Action for Rank {
    fn access(&self) -> Access {
        Access::Data(Role::Reader)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.0)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        vec![&entity.board(self.1).readers]
    }

    fn describe(&self, model: &Model) -> Description {
        let entity = model.entity(self.0);
        let board = entity.board(self.1);
        let ranked = model.ranked(self.0, self.1);
        let mut query: Vec<_> = fields(entity, &board.by).map(by_parameter).collect();
        query.extend(entity_parameters(model, ranked));
        let mut schema = entry_schema(model, (self.0, board), ranked);
        schema["properties"]["explain"] = explained();
        schema["properties"]["settling"] = settling_schema();
        Description {
            details: details((entity, board)),
            path_values: PathValues { fields_of: None, other: Some(of_value((entity, board))) },
            query,
            answers: vec![Answer::json(200, "The rank and score.", schema)],
            problems: vec![Kind::BadParameter, Kind::NotFound, Kind::Building],
            ..Description::new(
                Group::Entity(self.0),
                format!("Rank on the leaderboard: {}", spoken(&board.name)),
            )
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        let entity = state.model.entity(self.0);
        Box::pin(run(call, (entity, entity.board(self.1))))
    }

    fn is_query(&self) -> bool {
        true
    }

    fn takes_several_reads(&self, call: &Call) -> bool {
        call.has_parameter("with")
    }
}

/// Returns an entry: `{"of": "43", "rank": 1, "score": 150}`.
async fn run(call: &Call, (entity, board): (&Entity, &Board)) -> Result<Reply, Problem> {
    let names = board.by.iter().map(|field| entity.field(*field).name.as_str());
    call.check_parameters(&names.chain(["with", FIELDS]).collect::<Vec<&str>>())?;
    let mut query = call.db.board(&board.name);
    for (name, value) in values_by(call, entity, (&[], &board.by))? {
        query = query.by(&name, value);
    }
    let part = EntityPart::of(call, &board.name, &query)?;
    let of = call.value(0);
    let found = query.rank(ranked_value((entity, board), of)?).await?;
    let found = found.ok_or_else(|| not_on_it(board, of))?;
    let is_settling = found.is_settling;
    let mut body = entries((entity, board), &query, vec![found], part.as_ref()).await?.concat();
    if is_settling {
        body.pop();
        body.push_str(",\"settling\":true}");
    }
    Ok(Reply::json(StatusCode::OK, body))
}
