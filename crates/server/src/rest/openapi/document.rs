//! The OpenAPI 3.1 document of a model.

use keyloom_model::Model;
use serde_json::{Map, Value as Json, json};

use super::super::operation::Access;
use super::super::problem::Kind;
use super::answer::Answer;
use super::body::Body;
use super::describe::Described;
use super::description::Group;
use super::headers::AnswerHeader;
use super::links::links;
use super::parameter::{Location, Parameter, Values};
use super::{entity, field, security};

const ABOUT: &str = "\
Generated from a model: its entities and declared queries.

Every entity has a `version`, also sent as `ETag`; pass it in `If-Match` to avoid overwriting someone \
else's change. Lists are paged with `limit` and `cursor`. Errors are returned as \
`application/problem+json` with a `code` whose meaning never changes.

Without tokens, the server accepts requests from its own machine only, without authentication.";

/// Renders the document of a service with a name.
pub(crate) fn document(name: &str, model: &Model, described: &[Described<'_>]) -> Json {
    let mut paths: Map<String, Json> = Map::new();
    for one in described {
        let mut operation = operation(model, one);
        if let Some(created) = one.creates {
            let links = links(created, described);
            operation["responses"]["201"]["links"] = Json::Object(links);
        }
        let path = paths.entry(one.operation.path_text()).or_insert_with(|| json!({}));
        path[one.operation.method.as_str().to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": name, "version": env!("CARGO_PKG_VERSION"), "description": ABOUT },
        "servers": [{ "url": "/" }],
        "tags": tags(model, described),
        "paths": paths,
        "components": {
            "schemas": schemas(model),
            "responses": problem_responses(),
            "headers": AnswerHeader::ALL
                .map(|header| (header.name().to_owned(), header.to_json()))
                .into_iter()
                .collect::<Map<String, Json>>(),
            "securitySchemes": security::schemes(),
        },
    })
}

fn operation(model: &Model, one: &Described<'_>) -> Json {
    let mut responses = Map::new();
    for answer in &one.answers {
        responses.insert(answer.status.to_string(), answer.to_json());
    }
    for kind in &one.problems {
        let reference = format!("#/components/responses/{}", problem_name(kind.status()));
        responses.insert(kind.status().to_string(), json!({ "$ref": reference }));
    }
    let mut operation = json!({
        "operationId": one.operation.name,
        "tags": [one.group.name(model)],
        "summary": one.summary,
        "security": security::of(one),
        "responses": responses,
    });
    let role = match one.access {
        Access::Public => None,
        Access::Role(role) => Some(format!("Requires the role `{}`.", role.name())),
    };
    let details: Vec<String> = one.details.iter().cloned().chain(role).collect();
    if !details.is_empty() {
        operation["description"] = json!(details.join("\n\n"));
    }
    if !one.parameters.is_empty() {
        operation["parameters"] = one.parameters.iter().map(Parameter::to_json).collect();
    }
    if let Some(body) = &one.body {
        operation["requestBody"] = body.to_json();
    }
    operation
}

impl Parameter {
    fn to_json(&self) -> Json {
        let mut parameter = json!({
            "name": self.name, "in": self.location.name(), "description": self.about,
            "schema": self.schema,
        });
        if self.is_required {
            parameter["required"] = json!(true);
        }
        if self.location == Location::Query && self.schema["type"] == json!("array") {
            parameter["style"] = json!("form");
            parameter["explode"] = json!(self.values == Values::Repeated);
        }
        parameter
    }
}

impl Body {
    fn to_json(&self) -> Json {
        let content = content(&self.media_types, &self.schema, self.example.as_ref());
        json!({ "required": self.is_required, "content": content })
    }
}

impl Answer {
    fn to_json(&self) -> Json {
        let mut response = json!({
            "description": self.about,
            "headers": header_references(&self.headers),
        });
        let schema = self.schema.clone().unwrap_or_else(|| json!({ "type": "string" }));
        if !self.media_type.is_empty() {
            response["content"] = content(&[self.media_type], &schema, self.example.as_ref());
        }
        response
    }
}

fn content(media_types: &[&str], schema: &Json, example: Option<&Json>) -> Json {
    let media_type = |name: &&str| {
        let mut content = json!({ "schema": schema });
        if let Some(example) = example {
            content["example"] = example.clone();
        }
        ((*name).to_owned(), content)
    };
    Json::Object(media_types.iter().map(media_type).collect())
}

fn header_references(headers: &[AnswerHeader]) -> Map<String, Json> {
    let header = |header: &AnswerHeader| {
        let name = header.name();
        (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }))
    };
    headers.iter().map(header).collect()
}

fn tags(model: &Model, described: &[Described<'_>]) -> Vec<Json> {
    let mut groups: Vec<Group> = vec![];
    for one in described {
        if !groups.contains(&one.group) {
            groups.push(one.group);
        }
    }
    groups.iter().map(|group| json!({ "name": group.name(model) })).collect()
}

fn schemas(model: &Model) -> Map<String, Json> {
    let of_entities = model.entities().flat_map(|(_, entity)| entity::schemas(model, entity));
    let own = [
        ("Anything".to_owned(), field::anything()),
        ("Named".to_owned(), entity::name_of_entity()),
        ("Problem".to_owned(), problem(Kind::ALL.iter())),
    ];
    of_entities.chain(own).collect()
}

/// The schema of problems of these kinds.
fn problem<'k>(kinds: impl Iterator<Item = &'k Kind> + Clone) -> Json {
    let mut statuses: Vec<u16> = kinds.clone().map(|kind| kind.status()).collect();
    statuses.dedup();
    let codes: Vec<&str> = kinds.clone().map(|kind| kind.code()).collect();
    let text = |about: &str| json!({ "type": "string", "description": about });
    let error = json!({
        "type": "object",
        "properties": {
            "field": text("The field, as in `address.lines[2]`."),
            "detail": text("What is wrong and how to fix it."),
        },
        "required": ["field", "detail"], "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "type": text("`urn:keyloom:problem:` and the code."),
            "title": text("What the code means."),
            "status": { "enum": statuses },
            "code": { "type": "string", "enum": codes, "description": "Identifies the problem for programs." },
            "detail": text("What is wrong and how to fix it, for people."),
            "errors": { "type": "array", "items": error, "description": "Every invalid field." },
            "request_id": text("Same as `x-request-id`."),
        },
        "required": ["type", "title", "status", "code", "detail", "request_id"],
        "additionalProperties": false,
    })
}

/// One response for each status that problems have.
fn problem_responses() -> Map<String, Json> {
    let mut responses = Map::new();
    for kind in Kind::ALL {
        let of_status = Kind::ALL.iter().filter(|other| other.status() == kind.status());
        let meanings: Vec<String> =
            of_status.clone().map(|kind| format!("`{}`: {}", kind.code(), kind.title())).collect();
        let mut headers = vec![AnswerHeader::RequestId];
        match kind {
            Kind::Unauthorized => headers.push(AnswerHeader::Authenticate),
            Kind::Busy | Kind::Building | Kind::WritesRefused => {
                headers.push(AnswerHeader::RetryAfter)
            }
            _ => {}
        }
        let response = responses
            .entry(problem_name(kind.status()))
            .or_insert_with(|| json!({ "description": meanings.join(" "), "headers": {} }));
        let known = header_references(&headers);
        if let Some(headers) = response["headers"].as_object_mut() {
            headers.extend(known);
        }
        response["content"] =
            json!({ "application/problem+json": { "schema": problem(of_status) } });
    }
    responses
}

fn problem_name(status: u16) -> String {
    format!("Problem{status}")
}
