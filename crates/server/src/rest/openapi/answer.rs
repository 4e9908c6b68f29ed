//! What operations answer when they are done.

use keyloom_model::{CountId, Entity, EntityId, FieldId, IdSource, Model};
use serde_json::{Map, Value as Json, json};

use super::super::example;
use super::super::operation::{Action, Asked, Operation};
use super::super::own_route::{OwnRoute, OwnShape};
use super::super::values::ValuesOf;
use super::entity::{explained, reference};
use super::field::{Form, schema};
use super::headers::AnswerHeader;
use super::{bulk, count, token};

const JSON: &str = "application/json";

/// An answer that is not a problem.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    /// Empty if there is no body.
    pub(crate) media_type: &'static str,
    pub(crate) schema: Option<Json>,
    pub(super) headers: Vec<AnswerHeader>,
    pub(crate) example: Option<Json>,
}

/// Everything that an operation can answer but problems.
///
/// # Errors
///
/// If the schema of an application's own route is not JSON.
pub(super) fn answers(
    model: &Model,
    own: &[OwnRoute],
    operation: &Operation,
) -> Result<Vec<Answer>, String> {
    use AnswerHeader::{ETag, Replayed};
    let shown = |id: &EntityId, status, about| of_entity(model, model.entity(*id), status, about);
    let page = |id: &EntityId| {
        let entity = model.entity(*id);
        let example = json!({ "items": [example::shown(model, entity)] });
        Answer::json(200, "A page of them.", reference(entity, ".page")).with_example(example)
    };
    let text = |media_type| Answer { media_type, ..Answer::empty(200, "The text.") };
    let same = || Answer::empty(304, "It is the one that you have.").with(&[ETag]);
    let answers = match &operation.action {
        Action::Create(id) => vec![made(shown(id, 201, "It was made."))],
        Action::Read(id) => vec![shown(id, 200, "The entity.").with(&[ETag]), same()],
        Action::Replace(id) => {
            let replaced = shown(id, 200, "It was replaced.").with(&[ETag, Replayed]);
            let is_given = model.entity(*id).id_source == IdSource::Given;
            let new = is_given.then(|| made(shown(id, 201, "It was made.")));
            [replaced].into_iter().chain(new).collect()
        }
        Action::Change(id) => vec![shown(id, 200, "It was changed.").with(&[ETag, Replayed])],
        Action::Delete(_) => vec![Answer::empty(204, "It was deleted.").with(&[Replayed])],
        Action::Children { child, .. } => vec![page(child)],
        Action::Ask(asked) => vec![page(&asked.entity)],
        Action::Job(id, _) => vec![shown(id, 200, "The job as it is now.").with(&[ETag])],
        Action::Changes(_) => vec![text("text/event-stream")],
        Action::Values(asked, of) => {
            let schema = counts(model.entity(asked.entity), asked, *of);
            vec![Answer::json(200, "The counts.", schema)]
        }
        Action::Count(id, count, _) => vec![of_count(model.entity(*id), *count)],
        Action::Board(id, board) => {
            let entity = model.entity(*id);
            let schema = count::board_answer((entity, entity.board(*board)));
            vec![Answer::json(200, "A page of the board.", schema)]
        }
        Action::Ranked(id, board) => {
            let entity = model.entity(*id);
            let schema = count::ranked_answer((entity, entity.board(*board)));
            vec![Answer::json(200, "Its rank and score.", schema)]
        }
        Action::Batch => vec![Answer::json(200, "The results.", bulk::batch_answer())],
        Action::Transaction => {
            let schema = bulk::transaction_answer(model);
            vec![Answer::json(200, "The results.", schema).with(&[Replayed])]
        }
        Action::ListTokens => vec![Answer::json(200, "All tokens.", token::list())],
        Action::CreateToken => {
            let made = Answer::json(201, "The token, with its text.", token::made());
            vec![made.with(&[AnswerHeader::Location])]
        }
        Action::RevokeToken => vec![Answer::empty(204, "It lets nobody in any more.")],
        Action::OpenApi => {
            let document = Answer::json(200, "The description.", json!({ "type": "object" }));
            vec![document.with(&[ETag]), same()]
        }
        Action::Docs => vec![text("text/html").with(&[ETag]), same()],
        Action::Metrics => vec![text("application/openmetrics-text")],
        Action::Health => vec![status("It does.", "ok")],
        Action::Ready => vec![status("It can.", "ready")],
        Action::Own(index, _) => vec![of_own(&own[*index])?],
    };
    Ok(answers)
}

/// Values, each with how many have it.
fn counts(entity: &Entity, asked: &Asked, of: ValuesOf) -> Json {
    let page = |word: &str, value: Json| {
        let count = json!({ "type": "integer", "minimum": 1 });
        let item = json!({
            "type": "object", "properties": { word: value, "count": count },
            "required": [word, "count"], "additionalProperties": false,
        });
        let next = "The `cursor` of those that follow; absent at the end.";
        json!({
            "type": "object",
            "properties": {
                "items": { "type": "array", "items": item },
                "next": { "type": "string", "description": next },
                "explain": explained(),
            },
            "required": ["items"], "additionalProperties": false,
        })
    };
    let text = || json!({ "type": "string" });
    match of {
        ValuesOf::TagKeys(_) => page("key", text()),
        ValuesOf::TagValues(_) => page("value", text()),
        ValuesOf::Facet => page("value", json!({ "type": ["string", "integer", "boolean"] })),
        ValuesOf::Facets => {
            let facet = |field: FieldId| {
                let field = entity.field(field);
                (field.name.clone(), page("value", schema(&field.of, Form::Shown)))
            };
            let facets: Map<String, Json> = asked.facets(entity).into_iter().map(facet).collect();
            json!({
                "type": "object",
                "properties": { "facets": {
                    "type": "object", "properties": facets, "additionalProperties": false,
                }, "explain": explained() },
                "required": ["facets"], "additionalProperties": false,
            })
        }
    }
}

fn status(meaning: &'static str, status: &str) -> Answer {
    let schema = json!({ "type": "object", "properties": { "status": { "const": status } },
                         "required": ["status"], "additionalProperties": false });
    Answer::json(200, meaning, schema).with_example(json!({ "status": status }))
}

fn of_count(entity: &Entity, count: CountId) -> Answer {
    let (schema, example) = count::count_answer((entity, entity.count(count)));
    Answer::json(200, "How many there are.", schema).with_example(example)
}

fn of_own(route: &OwnRoute) -> Result<Answer, String> {
    let schema = match route.answer {
        OwnShape::Html => {
            return Ok(Answer { media_type: "text/html", ..Answer::empty(200, "The page.") });
        }
        OwnShape::Json(schema) => schema,
    };
    let schema = serde_json::from_str(schema)
        .map_err(|error| format!("The answer of the route {route:?} is no JSON: {error}"))?;
    Ok(Answer::json(200, "The answer.", schema))
}

fn of_entity(model: &Model, entity: &Entity, status: u16, about: &'static str) -> Answer {
    let example = example::shown(model, entity);
    Answer::json(status, about, reference(entity, "")).with_example(example)
}

fn made(answer: Answer) -> Answer {
    answer.with(&[AnswerHeader::ETag, AnswerHeader::Location, AnswerHeader::Replayed])
}

impl Answer {
    fn empty(status: u16, about: &'static str) -> Answer {
        let headers = vec![AnswerHeader::RequestId];
        Answer { status, about, media_type: "", schema: None, headers, example: None }
    }

    fn json(status: u16, about: &'static str, schema: Json) -> Answer {
        Answer { media_type: JSON, schema: Some(schema), ..Answer::empty(status, about) }
    }

    fn with(mut self, headers: &[AnswerHeader]) -> Answer {
        self.headers.extend(headers);
        self
    }

    fn with_example(mut self, example: Json) -> Answer {
        self.example = Some(example);
        self
    }
}
