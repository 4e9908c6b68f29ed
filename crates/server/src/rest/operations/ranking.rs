//! What counts and leaderboards have in common.

use hyper::StatusCode;
use keyloom::{Item, Ranked, Value, item_to_json};
use keyloom_model::{Board, Entity, Field, FieldId, FieldType, Ranking};
use serde_json::{Map, Value as Json, json};

use super::super::call::{Call, Reply, bad_parameter, cut};
use super::super::openapi::{
    Form, Parameter, Place, Values, explained, id, one_value, schema, spoken,
};
use super::super::parameters::value;
use super::super::problem::{Kind, Problem};

/// The values of `by`, in the path and in the query.
pub(super) fn values_by(
    call: &Call,
    entity: &Entity,
    (in_path, open): (&[FieldId], &[FieldId]),
) -> Result<Vec<(String, Value)>, Problem> {
    let mut given = vec![];
    for (field, text) in in_path.iter().zip(&call.values) {
        let field = entity.field(*field);
        given.push((field.name.clone(), value(field, text)?));
    }
    for field in open.iter().map(|field| entity.field(*field)) {
        let text = call.parameter(&field.name)?.ok_or_else(|| {
            bad_parameter(format!("`{}` is missing: give a value of it.", field.name))
        })?;
        given.push((field.name.clone(), value(field, bare(text))?));
    }
    Ok(given)
}

/// A value of a query as lists take it, where one that begins with a sign has `=` before it.
pub(super) fn bare(text: &str) -> &str {
    text.strip_prefix('=').unwrap_or(text)
}

/// A value that is ranked, or an id.
pub(super) fn ranked_value(
    (entity, board): (&Entity, &Board),
    text: &str,
) -> Result<Value, Problem> {
    match board.ranking {
        Ranking::Count(field) => value(entity.field(field), text),
        Ranking::Field(_) => Ok(Value::from(text)),
    }
}

/// One on a leaderboard, as it is answered.
pub(super) fn shown((entity, board): (&Entity, &Board), one: Ranked) -> Item {
    let (of, score) = match board.ranking {
        Ranking::Count(field) => (entity.field(field).of.to_external(&one.of), Value::N(one.score)),
        Ranking::Field(field) => (one.of, entity.field(field).of.to_external(&Value::N(one.score))),
    };
    Item::from([("rank", Value::from(one.rank)), ("of", of), ("score", score)])
}

pub(super) fn not_on_it(board: &Board, of: &str) -> Problem {
    let detail = format!("`{}` is not on the board `{}`.", cut(of), board.name);
    Problem::new(Kind::NotFound, detail)
}

/// A page of items.
pub(super) fn page(items: impl Iterator<Item = Item>, next: Option<String>) -> Reply {
    let mut body = Item::from([("items", Value::L(items.map(Value::M).collect()))]);
    if let Some(next) = next {
        body.insert("next", next);
    }
    Reply::json(StatusCode::OK, item_to_json(&body))
}

/// A value that is ranked, or an id, as a request gives it.
pub(super) fn of_schema((entity, board): (&Entity, &Board)) -> Json {
    match board.ranking {
        Ranking::Count(field) => one_value(entity.field(field)),
        Ranking::Field(_) => id(),
    }
}

/// The schema of one on a leaderboard.
pub(super) fn ranked_schema((entity, board): (&Entity, &Board)) -> Json {
    let (of, score) = match board.ranking {
        Ranking::Count(field) => {
            (schema(&entity.field(field).of, Form::Shown), json!({ "type": "integer" }))
        }
        Ranking::Field(field) => (id(), schema(&entity.field(field).of, Form::Shown)),
    };
    let rank = json!({ "type": "integer", "minimum": 1 });
    object(&[("rank", rank), ("of", of), ("score", score)], &["rank", "of", "score"])
}

/// What is ranked, in sentences.
pub(super) fn details((entity, board): (&Entity, &Board)) -> Vec<String> {
    let what = match board.ranking {
        Ranking::Count(field) => {
            format!(
                "Values of `{}`, ranked by the number of entities that have them.",
                entity.field(field).name
            )
        }
        Ranking::Field(field) => format!("Ids, ranked by `{}`.", entity.field(field).name),
    };
    let order = "Highest first. Equal scores share a rank and are ordered by `of`.";
    vec![what, order.to_owned()]
}

/// The parameter of a field that must be given.
pub(super) fn by_parameter(field: &Field) -> Parameter {
    let about = format!("The {}.{}", spoken(&field.name), sign_rule(field));
    let (name, place) = (field.name.clone(), Place::Query);
    Parameter {
        name,
        place,
        is_required: true,
        about,
        schema: one_value(field),
        values: Values::Repeated,
    }
}

/// How a value that begins with a sign is written.
pub(super) fn sign_rule(field: &Field) -> &'static str {
    match field.of {
        FieldType::Text(_) | FieldType::Ref(..) => " Prefix a value that starts with `=` with `=`.",
        _ => "",
    }
}

/// The schema of a page of items.
pub(super) fn page_schema(item: Json) -> Json {
    let next = json!({ "type": "string", "description": "The `cursor` of the next page; absent \
                       at the end." });
    let items = json!({ "type": "array", "items": item });
    object(&[("items", items), ("next", next), ("explain", explained())], &["items"])
}

/// An object with these members and no others.
pub(super) fn object(properties: &[(&str, Json)], required: &[&str]) -> Json {
    let properties: Map<String, Json> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

pub(super) fn fields<'e>(
    entity: &'e Entity,
    ids: &'e [FieldId],
) -> impl Iterator<Item = &'e Field> {
    ids.iter().map(|id| entity.field(*id))
}
