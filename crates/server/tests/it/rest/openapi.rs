//! The OpenAPI document has what generators need: a type for every schema, one component for what is shared,
//! and nothing that is not used.

use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};

/// References in both directions, to itself, lists and counts of them, and a field of every type.
const RECURSIVE: &str = r#"
[entity.person]
id = "given"
path = "/people"
fields.name = "text"
fields.boss = "ref person clear?"
list.of_boss = { path = "/people/{boss}/reports", by = "boss", order = "name" }

[entity.post]
fields.author = "ref person cascade"
fields.data   = "any?"
fields.notes  = "list of text?"
fields.links  = "map of text?"
fields.stars  = "int = 0"
fields.tags   = "tags = {}"
list.of    = { path = "/people/{author}/posts", by = "author", order = "-stars", facets = ["stars"] }
count.of   = { path = "/people/{author}/posts/count", by = "author", sum = "stars" }
board.top  = { rank = "stars" }
board.busy = { of = "author" }

[entity.comment]
parent = "post"
fields.text = "text"
"#;

/// Schemas that contain others, by the member that has them.
const WITHIN: [&str; 5] = ["items", "additionalProperties", "propertyNames", "not", "schema"];
/// The same with several of them.
const EACH_WITHIN: [&str; 3] = ["anyOf", "oneOf", "allOf"];

fn document(model: &str) -> Value {
    Served::open(model).ask(&Ask::get("/openapi.json")).expect_json(200)
}

fn documents() -> Vec<Value> {
    let apps = ["tasks", "comments", "kitchen", "oncall"].map(|name| document(&app(name)));
    apps.into_iter().chain([document(RECURSIVE)]).collect()
}

/// Calls `check` for every schema below a part of a document.
fn each_schema(part: &Value, path: &str, check: &mut dyn FnMut(&Value, &str)) {
    let Some(members) = part.as_object() else { return };
    let is_schema = path.ends_with("/schema") || path.contains("/schemas/");
    if is_schema {
        check(part, path);
    }
    for (name, member) in members {
        let path = format!("{path}/{name}");
        match member {
            Value::Object(schemas) if is_schema && name == "properties" => {
                let mut each = |(name, schema): (&String, &Value)| {
                    each_schema(schema, &format!("{path}/{name}/schema"), check);
                };
                schemas.iter().for_each(&mut each);
            }
            Value::Array(schemas) if EACH_WITHIN.contains(&name.as_str()) => {
                for schema in schemas {
                    each_schema(schema, &format!("{path}/schema"), check);
                }
            }
            Value::Object(_) if is_schema && WITHIN.contains(&name.as_str()) => {
                each_schema(member, &format!("{path}/schema"), check);
            }
            Value::Object(_) if !is_schema && name != "example" => {
                each_schema(member, &path, check)
            }
            Value::Array(items) if !is_schema => {
                items.iter().for_each(|item| each_schema(item, &path, check));
            }
            _ => {}
        }
    }
}

#[test]
fn every_schema_has_a_type_and_every_array_has_items() {
    for document in documents() {
        let mut count = 0;
        let mut check = |schema: &Value, path: &str| {
            count += 1;
            let names: Vec<&str> = schema.as_object().unwrap().keys().map(String::as_str).collect();
            let has = |name: &str| names.contains(&name);
            // Free JSON says so, and what is only required is a condition on an object.
            let is_deliberate = names == ["description"] || names == ["required"] || has("if");
            let is_typed =
                has("type") || has("$ref") || EACH_WITHIN.into_iter().any(has) || is_deliberate;
            assert!(is_typed, "no type: {path}: {schema}");
            let is_array = schema["type"] == "array"
                || schema["type"].as_array().is_some_and(|all| all.contains(&json!("array")));
            assert!(!is_array || has("items"), "no items: {path}: {schema}");
            let is_untold = schema["type"] == "object" && !has("properties");
            assert!(!is_untold || has("additionalProperties"), "no members: {path}: {schema}");
        };
        each_schema(&document, "", &mut check);
        assert!(count > 300, "{count}");
    }
}

#[test]
fn every_reference_leads_to_a_component_and_every_component_is_used() {
    for document in documents() {
        let text = document.to_string();
        let mut used: Vec<&str> = text
            .split("\"$ref\":\"#")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        used.sort_unstable();
        used.dedup();
        for pointer in &used {
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        for kind in ["schemas", "responses", "headers"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                let pointer = format!("/components/{kind}/{name}");
                assert!(used.contains(&pointer.as_str()), "{pointer}");
            }
        }
    }
}

#[test]
fn all_problems_are_one_schema() {
    for document in documents() {
        for response in document["components"]["responses"].as_object().unwrap().values() {
            let schema = &response["content"]["application/problem+json"]["schema"];
            assert_eq!(schema, &json!({ "$ref": "#/components/schemas/Problem" }));
        }
        for operation in operations(&document) {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let expected = format!("#/components/responses/Problem{status}");
                let is_problem = status.starts_with(['4', '5']);
                assert!(!is_problem || response["$ref"] == expected, "{response}");
            }
        }
    }
}

fn operations(document: &Value) -> Vec<&Value> {
    let paths = document["paths"].as_object().unwrap().values();
    paths.flat_map(|path| path.as_object().unwrap().values()).collect()
}

#[test]
fn related_entities_have_their_own_types_also_if_they_refer_to_each_other() {
    let document = document(RECURSIVE);
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["person"]["properties"]["with"]["$ref"], "#/components/schemas/person.with");
    let with = |name: &str| &schemas[format!("{name}.with")]["properties"];
    let whole_or_part = |name: &str| {
        json!([
            { "$ref": format!("#/components/schemas/{name}") },
            { "$ref": format!("#/components/schemas/{name}.part") },
        ])
    };
    assert_eq!(with("person")["boss"]["anyOf"], whole_or_part("person"));
    assert_eq!(with("post")["author"]["anyOf"], whole_or_part("person"));
    assert_eq!(with("comment")["post"]["anyOf"], whole_or_part("post"));
    for (of, name, schema) in [
        ("person", "reports", "person.page"),
        ("person", "posts", "post.page"),
        ("person", "posts.count", "post.count.of"),
        ("post", "comments", "comment.page"),
    ] {
        let expected = format!("#/components/schemas/{schema}");
        assert_eq!(with(of)[name]["$ref"], expected, "{of} with {name}");
    }
    let count = &schemas["post.count.of"]["properties"];
    assert_eq!(count["sum"]["properties"]["stars"]["type"], "number");
    // Nothing is related to a task.
    let tasks = self::document(&app("tasks"));
    assert_eq!(tasks["components"]["schemas"]["task"]["properties"].get("with"), None);
}

#[test]
fn what_can_be_followed_is_a_stream_too() {
    let document = document(RECURSIVE);
    for operation in operations(&document) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let is_live = parameters.into_iter().any(|parameter| parameter["name"] == "live");
        let content = &operation["responses"]["200"]["content"];
        let is_stream = content["text/event-stream"].is_object();
        let name = &operation["operationId"];
        assert_eq!(is_stream, is_live || name == "changes", "{name}");
        assert!(!is_live || content["application/json"].is_object(), "{name}");
    }
}

#[test]
fn parameters_of_paths_say_what_they_are() {
    let document = document(RECURSIVE);
    for (path, name, about) in [
        ("/people/{id}", "id", "The id of a person."),
        ("/people/{author}/posts", "author", "The id of a person."),
        ("/people/{author}/posts/facets/{facet}", "facet", "The facet to count the values of."),
        ("/people/{author}/posts/tags/{key}", "key", "The key of the tags."),
        ("/posts/{id}/with/comments", "id", "The id of a post."),
        ("/boards/top/{of}", "of", "The id of a post."),
        ("/boards/busy/{of}", "of", "The author to return the rank of."),
        ("/operations/{id}", "id", "The id of the operation."),
    ] {
        let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap();
        let found = parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
        assert_eq!(found["description"], about, "{path}");
    }
    let token = &document["paths"]["/tokens/{id}"]["delete"]["parameters"][0];
    assert_eq!(token["description"], "The id of the token.");
}
