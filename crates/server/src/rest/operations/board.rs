//! `GET /boards/popular`: a page of a leaderboard, or the neighbors of one entry.

use hyper::{Method, StatusCode};
use keyloom_model::{Board, BoardId, Entity, EntityId, Grantees, Model};

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, cursor, limit, query, spoken};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::reserved::{CURSOR, FIELDS, LIMIT};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::entries::{EntityPart, entity_parameters, entries, entry_schema};
use super::ranking::{
    by_parameter, details, fields, not_on_it, of_schema, page_schema, ranked_value,
    settling_schema, values_by,
};

/// Parameters other than fields.
const PARAMETERS: [&str; 5] = [LIMIT, CURSOR, "around", "with", FIELDS];

#[derive(Debug)]
struct BoardPage(EntityId, BoardId);

pub(super) fn board(entity: EntityId, id: BoardId, board: &Board) -> Operation {
    let path = vec![Segment::text("boards"), Segment::text(&board.name)];
    let name = format!("board_{}", board.name);
    Operation::new(name, Method::GET, path, BoardPage(entity, id))
}

impl Action for BoardPage {
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
        let about = "Return the neighbors of this one, `limit` on each side. Cannot be combined with `cursor`.";
        let mut parameters: Vec<_> = fields(entity, &board.by).map(by_parameter).collect();
        parameters.push(query("around", about, of_schema((entity, board))));
        parameters.extend([limit(10, "Maximum number of results."), cursor()]);
        let ranked = model.ranked(self.0, self.1);
        parameters.extend(entity_parameters(model, ranked));
        let mut schema = page_schema(entry_schema(model, (self.0, board), ranked));
        schema["properties"]["settling"] = settling_schema();
        Description {
            details: details((entity, board)),
            query: parameters,
            answers: vec![Answer::json(200, "A page of the leaderboard.", schema)],
            problems: vec![Kind::BadParameter, Kind::BadCursor, Kind::NotFound, Kind::Building],
            ..Description::new(
                Group::Entity(self.0),
                format!("Leaderboard: {}", spoken(&board.name)),
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

/// Returns a page of a leaderboard, or the neighbors of one entry.
async fn run(call: &Call, (entity, board): (&Entity, &Board)) -> Result<Reply, Problem> {
    let names = board.by.iter().map(|field| entity.field(*field).name.as_str());
    let known: Vec<&str> = names.chain(PARAMETERS).collect();
    call.check_parameters(&known)?;
    let mut query = call.db.board(&board.name);
    for (name, value) in values_by(call, entity, (&[], &board.by))? {
        query = query.by(&name, value);
    }
    if let Some(limit) = call.limit()? {
        query = query.limit(limit);
    }
    let part = EntityPart::of(call, &board.name, &query)?;
    if let Some(of) = call.parameter("around")? {
        if call.parameter(CURSOR)?.is_some() {
            let detail = "`around` returns a single page: omit `cursor` or `around`.";
            return Err(Problem::new(Kind::BadCursor, detail));
        }
        let around = query.around(ranked_value((entity, board), of)?).await?;
        let around = around.ok_or_else(|| not_on_it(board, of))?;
        let is_settling = around.iter().any(|ranked| ranked.is_settling);
        let items = entries((entity, board), &query, around, part.as_ref()).await?;
        return Ok(reply(&items, None, is_settling));
    }
    if let Some(cursor) = call.parameter(CURSOR)? {
        query = query.after(cursor);
    }
    let found = query.read().await?;
    let items = entries((entity, board), &query, found.items, part.as_ref()).await?;
    Ok(reply(&items, found.next, found.is_settling))
}

fn reply(items: &[String], next: Option<String>, is_settling: bool) -> Reply {
    let mut body = format!("{{\"items\":[{}]", items.join(","));
    // A cursor has no character that JSON would escape.
    body.extend(next.map(|next| format!(",\"next\":\"{next}\"")));
    body.push_str(if is_settling { ",\"settling\":true}" } else { "}" });
    Reply::json(StatusCode::OK, body)
}
