//! What counts and leaderboards share.

use hyper::StatusCode;
use keyloom::{Item, Ranked, Value, item_to_json};
use keyloom_model::{Board, Entity, Field, FieldId, FieldType, Ranking};
use serde_json::{Value as Json, json};

use super::super::call::{Call, Reply, bad_parameter, cut};
use super::super::field_value::value;
use super::super::openapi::{
    Form, Location, Parameter, PathValue, Values, explained, id, object, one_value, schema, spoken,
    with_article,
};
use super::super::problem::{Kind, Problem};

/// The values of `by`, from the path and the query.
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
        match call.parameter(&field.name)? {
            Some(text) => given.push((field.name.clone(), value(field, bare(text))?)),
            // Users need not name themselves.
            None if call.caller.user.is_some() && entity.is_owner(field) => {}
            None => {
                let detail = format!("The parameter `{}` is required.", field.name);
                return Err(bad_parameter(detail));
            }
        }
    }
    Ok(given)
}

/// Removes the `=` that escapes a value in the query, as for lists.
pub(super) fn bare(text: &str) -> &str {
    text.strip_prefix('=').unwrap_or(text)
}

/// Parses a ranked value, or an id.
pub(super) fn ranked_value(
    (entity, board): (&Entity, &Board),
    text: &str,
) -> Result<Value, Problem> {
    match board.ranking {
        Ranking::Count(field) => value(entity.field(field), text),
        Ranking::Field(_) => Ok(Value::from(text)),
    }
}

/// An entry of a leaderboard in a response.
pub(super) fn shown((entity, board): (&Entity, &Board), one: Ranked) -> Item {
    let (of, score) = match board.ranking {
        Ranking::Count(field) => (entity.field(field).of.to_external(&one.of), Value::N(one.score)),
        Ranking::Field(field) => (one.of, entity.field(field).of.to_external(&Value::N(one.score))),
    };
    Item::from([("rank", Value::from(one.rank)), ("of", of), ("score", score)])
}

pub(super) fn not_on_it(board: &Board, of: &str) -> Problem {
    let detail = format!("`{}` is not on the leaderboard `{}`.", cut(of), board.name);
    Problem::new(Kind::NotFound, detail)
}

/// The schema of the member `settling`, which says that ranks follow.
pub(super) fn settling_schema() -> Json {
    json!({ "type": "boolean", "description": "Present and `true` if scores have changed since \
            ranks were computed; they follow within seconds. Only on boards with `shards`." })
}

/// A page of items.
pub(super) fn page(items: impl Iterator<Item = Item>, next: Option<String>) -> Reply {
    let mut body = Item::from([("items", Value::L(items.map(Value::M).collect()))]);
    if let Some(next) = next {
        body.insert("next", next);
    }
    Reply::json(StatusCode::OK, item_to_json(&body))
}

/// The schema of a ranked value, or an id, in a request.
pub(super) fn of_schema((entity, board): (&Entity, &Board)) -> Json {
    match board.ranking {
        Ranking::Count(field) => one_value(entity.field(field)),
        Ranking::Field(_) => id(),
    }
}

/// A ranked value, or an id, in a path.
pub(super) fn of_value((entity, board): (&Entity, &Board)) -> PathValue {
    let about = match board.ranking {
        Ranking::Count(field) => {
            format!("The {} to return the rank of.", spoken(&entity.field(field).name))
        }
        Ranking::Field(_) => format!("The id of {}.", with_article(&entity.name)),
    };
    PathValue { about, schema: of_schema((entity, board)) }
}

/// The schema of an entry of a leaderboard.
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

/// The required parameter of a field.
pub(super) fn by_parameter(field: &Field) -> Parameter {
    let about = format!("The {}.{}", spoken(&field.name), sign_rule(field));
    let (name, location) = (field.name.clone(), Location::Query);
    Parameter {
        name,
        location,
        is_required: true,
        about,
        schema: one_value(field),
        values: Values::Repeated,
    }
}

/// How to escape a value that begins with `=`.
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

pub(super) fn fields<'e>(
    entity: &'e Entity,
    ids: &'e [FieldId],
) -> impl Iterator<Item = &'e Field> {
    ids.iter().map(|id| entity.field(*id))
}
