//! Counts and boards: what they take, what they answer, and what is to be known of them.

use keyloom_model::{Board, Count, Entity, Field, FieldId, FieldType, Ranking};
use serde_json::{Map, Value as Json, json};

use super::super::count::open_fields;
use super::entity::explained;
use super::field::{Form, id, schema};
use super::parameter::{Parameter, Place, Values, cursor, one_value, query};
use super::sentence::spoken;

/// What a count takes in its query.
pub(super) fn count_parameters(
    (entity, count): (&Entity, &Count),
    in_path: &[FieldId],
) -> Vec<Parameter> {
    let open = open_fields(in_path, &count.by);
    let mut all: Vec<Parameter> = open.iter().map(|field| of_by(entity.field(*field))).collect();
    let names: Vec<&str> = fields(entity, &count.split).map(|field| field.name.as_str()).collect();
    for field in fields(entity, &count.split) {
        let about = format!("Only those with this {}.{}", spoken(&field.name), sign_rule(field));
        all.push(query(&field.name, &about, one_value(field)));
    }
    if !names.is_empty() {
        let item = json!({ "type": "string", "enum": names });
        let schema = json!({ "type": "array", "items": item, "minItems": 1, "uniqueItems": true });
        let about = format!(
            "One number for each value: `{}`, or several with commas between them. A field that \
             is given a value cannot be named.",
            names.join("`, `")
        );
        all.push(Parameter { values: Values::Joined, ..query("split", &about, schema) });
        all.extend([limit(100, "How many numbers at most, with `split`."), cursor()]);
    }
    all
}

/// What a board takes in its query.
pub(super) fn board_parameters((entity, board): (&Entity, &Board)) -> Vec<Parameter> {
    let mut all = ranked_parameters((entity, board));
    let about = "Those before and after this one, `limit` of each; instead of `cursor`.";
    all.push(query("around", about, of_schema((entity, board))));
    all.extend([limit(10, "How many at most."), cursor()]);
    all
}

/// What one on a board takes in its query.
pub(super) fn ranked_parameters((entity, board): (&Entity, &Board)) -> Vec<Parameter> {
    fields(entity, &board.by).map(of_by).collect()
}

/// A value that is ranked, or an id, as a request gives it.
pub(super) fn of_schema((entity, board): (&Entity, &Board)) -> Json {
    match board.ranking {
        Ranking::Count(field) => one_value(entity.field(field)),
        Ranking::Field(_) => id(),
    }
}

/// A number, or a page of them.
pub(super) fn count_answer((entity, count): (&Entity, &Count)) -> (Json, Json) {
    let number = json!({ "type": "integer", "minimum": 0 });
    let one = object(&[("count", number.clone()), ("explain", explained())], &["count"]);
    if count.split.is_empty() {
        return (one, json!({ "count": 3 }));
    }
    let values = fields(entity, &count.split)
        .map(|field| (field.name.clone(), schema(&field.of, Form::Shown)));
    let values = json!({
        "type": "object", "properties": values.collect::<Map<String, Json>>(),
        "additionalProperties": false,
    });
    let item = object(&[("values", values), ("count", number)], &["values", "count"]);
    (json!({ "oneOf": [one, page(item)] }), json!({ "count": 3 }))
}

/// One on a board, as it is answered.
pub(super) fn ranked_answer(board: (&Entity, &Board)) -> Json {
    let mut answer = ranked(board);
    answer["properties"]["explain"] = explained();
    answer
}

/// One on a board, as it is shown.
fn ranked((entity, board): (&Entity, &Board)) -> Json {
    let (of, score) = match board.ranking {
        Ranking::Count(field) => {
            (schema(&entity.field(field).of, Form::Shown), json!({ "type": "integer" }))
        }
        Ranking::Field(field) => (id(), schema(&entity.field(field).of, Form::Shown)),
    };
    let rank = json!({ "type": "integer", "minimum": 1 });
    object(&[("rank", rank), ("of", of), ("score", score)], &["rank", "of", "score"])
}

/// A page of a board.
pub(super) fn board_answer(board: (&Entity, &Board)) -> Json {
    page(ranked(board))
}

/// What is counted, in sentences.
pub(super) fn count_details((entity, count): (&Entity, &Count)) -> Vec<String> {
    let mut text = format!("The count `{}`", count.name);
    if !count.by.is_empty() {
        text.push_str(&format!(" of one {}", names(entity, &count.by)));
    }
    let mut all = vec![format!("{text}. It is exact.")];
    if !count.split.is_empty() {
        all.push("Without `split` the answer is one number; with it, those that are not 0.".into());
    }
    all
}

/// What is ranked, in sentences.
pub(super) fn board_details((entity, board): (&Entity, &Board)) -> Vec<String> {
    let what = match board.ranking {
        Ranking::Count(field) => {
            format!("Values of `{}`, ranked by how many have them.", entity.field(field).name)
        }
        Ranking::Field(field) => format!("Ids, ranked by `{}`.", entity.field(field).name),
    };
    let order = "The greatest first. Equal scores have equal ranks, and are in order of `of`.";
    vec![what, order.to_owned()]
}

fn of_by(field: &Field) -> Parameter {
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

fn sign_rule(field: &Field) -> &'static str {
    match field.of {
        FieldType::Text(_) | FieldType::Ref(..) => {
            " One that begins with `=` is written with `=` before it."
        }
        _ => "",
    }
}

fn limit(default: u32, about: &str) -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": default });
    query("limit", about, schema)
}

fn page(item: Json) -> Json {
    let next = json!({ "type": "string", "description": "The `cursor` of the next page; absent \
                       at the end." });
    let items = json!({ "type": "array", "items": item });
    object(&[("items", items), ("next", next), ("explain", explained())], &["items"])
}

fn object(properties: &[(&str, Json)], required: &[&str]) -> Json {
    let properties: Map<String, Json> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

fn fields<'e>(entity: &'e Entity, ids: &'e [FieldId]) -> impl Iterator<Item = &'e Field> {
    ids.iter().map(|id| entity.field(*id))
}

fn names(entity: &Entity, ids: &[FieldId]) -> String {
    let names: Vec<String> = fields(entity, ids).map(|field| format!("`{}`", field.name)).collect();
    names.join(" and ")
}
