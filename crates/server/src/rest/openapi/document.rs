//! The OpenAPI 3.1 document of a model.

use keyloom_model::Model;
use serde_json::{Map, Value as Json, json};

use super::answer::Answer;
use super::body::Body;
use super::component::{component, remove_unused, shared};
use super::describe::Described;
use super::description::Group;
use super::field::with;
use super::headers::{AnswerHeader, header_references};
use super::links::links;
use super::parameter::{Location, Parameter, Values};
use super::problem_schema::{problem_name, problem_responses};
use super::{entity, security};

const ABOUT: &str = "\
Generated from a model: its entities and declared queries.

Every entity has a `version`, also sent as `ETag`; pass it in `If-Match` to avoid overwriting someone \
else's change. Lists are paged with `limit` and `cursor`. Errors are returned as \
`application/problem+json` with a `code` whose meaning never changes.

Without tokens, the server accepts requests from its own machine only, without authentication.";

/// OpenAPI 3.1 has no schema for the events of a stream. The result is the one that generators can use: the
/// type of a response that is a page or a stream of it stays that of a page.
const LIVE_RESULT: &str =
    "What the events lead to: `page` has it as `body`, and the others change it.";

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
    let mut components = json!({
        "schemas": schemas(model, described),
        "responses": problem_responses(),
        "headers": AnswerHeader::ALL
            .map(|header| (header.name().to_owned(), header.to_json()))
            .into_iter()
            .collect::<Map<String, Json>>(),
        "securitySchemes": security::schemes(),
    });
    remove_unused(&mut components, &paths);
    json!({
        "openapi": "3.1.0",
        "info": { "title": name, "version": env!("CARGO_PKG_VERSION"), "description": ABOUT },
        "servers": [{ "url": "/" }],
        "tags": tags(model, described),
        "paths": paths,
        "components": components,
    })
}

fn operation(model: &Model, one: &Described<'_>) -> Json {
    let mut responses = Map::new();
    for answer in &one.answers {
        responses.insert(answer.status.to_string(), answer.to_json(&one.operation.name));
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
    let details: Vec<String> = one.details.iter().cloned().chain(one.who.clone()).collect();
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
    /// The response of an operation.
    fn to_json(&self, operation: &str) -> Json {
        let mut response = json!({
            "description": self.about,
            "headers": header_references(&self.headers),
        });
        if self.media_type.is_empty() {
            return response;
        }
        let schema = match (&self.schema, self.own_schema()) {
            (_, Some(_)) => component(&result_name(operation)),
            (Some(schema), None) => schema.clone(),
            (None, None) => json!({ "type": "string" }),
        };
        response["content"] = content(&[self.media_type], &schema, self.example.as_ref());
        if self.is_live {
            let schema = with(schema, "description", LIVE_RESULT);
            response["content"]["text/event-stream"] = json!({ "schema": schema });
            response["description"] =
                json!(format!("{} With `live`, server-sent events.", self.about));
        }
        response
    }

    /// The schema that two media types share although no component has it.
    fn own_schema(&self) -> Option<&Json> {
        let is_shared = |schema: &&Json| schema.get("$ref").or(schema.get("anyOf")).is_some();
        self.schema.as_ref().filter(|schema| self.is_live && !is_shared(schema))
    }
}

/// The name of the schema of what an operation returns.
fn result_name(operation: &str) -> String {
    format!("{operation}.result")
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

fn tags(model: &Model, described: &[Described<'_>]) -> Vec<Json> {
    let mut groups: Vec<Group> = vec![];
    for one in described {
        if !groups.contains(&one.group) {
            groups.push(one.group);
        }
    }
    let tag =
        |group: &Group| json!({ "name": group.name(model), "description": group.about(model) });
    groups.iter().map(tag).collect()
}

fn schemas(model: &Model, described: &[Described<'_>]) -> Map<String, Json> {
    let of_entities = model.entities().flat_map(|(id, _)| entity::schemas(model, id));
    let of_results = described.iter().flat_map(|one| {
        let own = one.answers.iter().filter_map(Answer::own_schema);
        own.map(|schema| (result_name(&one.operation.name), schema.clone()))
    });
    of_entities.chain(of_results).chain(shared()).collect()
}
