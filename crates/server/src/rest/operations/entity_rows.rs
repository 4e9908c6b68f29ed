//! `GET /model/rows?entity=E&id=I`: everything that the table has because of an entity.

use hyper::{Method, StatusCode};
use keyloom::Error;
use keyloom::explain::EntityRow;
use keyloom_model::Model;
use serde_json::{Map, Value as Json, json};

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, Parameter, entity_row_list, query};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;

#[derive(Debug)]
struct EntityRows;

pub(super) fn entity_rows() -> Operation {
    let (name, path) = ("entity_rows".to_owned(), Segment::path("/model/rows"));
    Operation::new(name, Method::GET, path, EntityRows)
}

impl Action for EntityRows {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn describe(&self, model: &Model) -> Description {
        let names: Vec<&str> = model.entities().map(|(_, entity)| entity.name.as_str()).collect();
        let kinds = json!({ "type": "string", "enum": names });
        let details = "Its own row, the rows and index keys that are derived from it, the sets that contain \
                       it and the counters that it adds to, each with the reason.";
        Description {
            details: vec![details.to_owned()],
            query: vec![
                required("entity", "The kind of the entity.", kinds),
                required("id", "Its id.", json!({ "type": "string", "minLength": 1 })),
            ],
            answers: vec![Answer::json(200, "What the table has.", entity_row_list())],
            problems: vec![Kind::BadParameter, Kind::NotFound],
            ..Description::new(Group::Service, "Read the rows of an entity")
        }
    }

    fn run<'c>(&'c self, _: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call))
    }
}

async fn run(call: &Call) -> Result<Reply, Problem> {
    call.check_parameters(&["entity", "id"])?;
    let given = |name| {
        let value = call.parameter(name)?;
        value.ok_or_else(|| Problem::new(Kind::BadParameter, format!("Give `{name}`.")))
    };
    let (entity, id) = (given("entity")?, given("id")?);
    let missing = || Error::NotFound { entity: entity.to_owned(), id: id.to_owned() };
    let rows = call.db.entity_rows(entity, id).await?.ok_or_else(missing)?;
    let rows: Vec<Json> = rows.iter().map(shown).collect();
    Ok(Reply::json(StatusCode::OK, json!({ "items": rows }).to_string()))
}

fn required(name: &str, about: &str, schema: Json) -> Parameter {
    Parameter { is_required: true, ..query(name, about, schema) }
}

fn shown(row: &EntityRow) -> Json {
    let attributes = row.item.iter().flat_map(|item| item.iter());
    let attributes =
        attributes.map(|(name, value)| (name.as_str().to_owned(), json!(value.to_string())));
    json!({
        "what": row.what, "why": row.why, "index": row.index, "partition": row.partition,
        "sort": row.sort, "is_stored": row.is_stored, "bytes": row.item.as_ref().map(keyloom::Item::size),
        "attributes": attributes.collect::<Map<_, _>>(),
    })
}
