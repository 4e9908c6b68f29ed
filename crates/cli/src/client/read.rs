//! Reads what a client can do from the OpenAPI document of a model.
//!
//! The document is the list of operations that the server routes requests by, so paths, parameters and
//! responses of a client cannot differ from those of the server. Nothing here knows the model itself.

use serde_json::Value as Json;

use super::api::{Answer, Api, Body, Followed, Group, Method, Parameter};
use super::described::Described;
use super::method_names::Operations;
use super::parameter::parameters;
use super::schema::{IN_BODY, Types, reference, strings};

/// The groups of operations that are methods of the client itself.
const OWN_GROUPS: [&str; 2] = ["Together", "Tokens"];
/// The group of operations that are for operators and browsers.
const SERVICE: &str = "Service";
const MERGE_PATCH: &str = "application/merge-patch+json";
const JSON: &str = "application/json";

/// Reads a document.
pub(super) fn api(title: &str, document: &Json) -> Api {
    let mut types = Types::new(document);
    let tags = document["tags"].as_array().into_iter().flatten();
    let tags: Vec<&str> = tags.filter_map(|tag| tag["name"].as_str()).collect();
    let is_own = |tag: &&str| OWN_GROUPS.contains(tag);
    let entities: Vec<&str> =
        tags.iter().copied().filter(|tag| !is_own(tag) && *tag != SERVICE).collect();
    // Entities come first, so that no other type has their names.
    for entity in &entities {
        types.component(entity);
    }
    let operations = Operations::new(document);
    let groups = entities.iter().map(|entity| {
        let methods = operations.methods(entity, &mut |name, one| method(&mut types, name, one));
        Group { name: (*entity).to_owned(), methods }
    });
    let groups: Vec<Group> = groups.collect();
    let own = tags
        .iter()
        .filter(|tag| is_own(tag))
        .flat_map(|tag| operations.methods(tag, &mut |name, one| method(&mut types, name, one)));
    let methods = own.collect();
    let followed = followed(&mut types, document);
    let codes = &document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"];
    Api {
        title: title.to_owned(),
        groups,
        methods,
        followed,
        codes: strings(codes).map(str::to_owned).collect(),
        types: types.into_found(),
    }
}

/// The entities that the change feed has.
fn followed(types: &mut Types<'_>, document: &Json) -> Vec<Followed> {
    let parameters = document["paths"]["/changes"]["get"]["parameters"].as_array();
    let entity = parameters.into_iter().flatten().find(|parameter| parameter["name"] == "entity");
    let names = entity.map(|entity| strings(&entity["schema"]["items"]["enum"]));
    let one = |name: &str| Followed { name: name.to_owned(), shape: types.component(name) };
    names.into_iter().flatten().map(one).collect()
}

/// The methods of an operation: two if it returns one value or a page, depending on its parameters.
fn method<'d>(types: &mut Types<'d>, name: &str, one: &Described<'d>) -> Vec<Method> {
    let successful = ["200", "201", "202"].iter().find_map(|status| {
        let schema = &one.json["responses"][status]["content"][JSON]["schema"];
        schema.is_object().then(|| types.result(schema))
    });
    let [single, page] = match successful.and_then(|schema| schema["oneOf"].as_array()) {
        Some(forms) if forms.len() == 2 => [Some(&forms[0]), Some(&forms[1])],
        Some(_) | None => [successful, None],
    };
    let Some(page) = page else { return vec![form(types, name, one, single)] };
    // A count: of everything, and of each value or window.
    let is_of_page = |parameter: &Parameter| {
        parameter.option().is_some_and(|name| ["split", "window", "fill", "limit"].contains(&name))
    };
    let mut total = form(types, name, one, single);
    total.parameters.retain(|parameter| !is_of_page(parameter));
    let mut each = form(types, &name.replacen("count", "counts", 1), one, Some(page));
    let is_needed = |one: &&mut Parameter| matches!(one.option(), Some("split" | "window"));
    let of_page = each.parameters.iter_mut().filter(is_needed);
    let of_page: Vec<&mut Parameter> = of_page.collect();
    let is_only = of_page.len() == 1;
    of_page.into_iter().for_each(|parameter| parameter.is_required = is_only);
    vec![total, each]
}

fn form<'d>(
    types: &mut Types<'d>,
    name: &str,
    one: &Described<'d>,
    schema: Option<&'d Json>,
) -> Method {
    let header = |name: &str| {
        let all = one.json["parameters"].as_array().into_iter().flatten();
        all.into_iter().any(|other| other["in"] == "header" && other["name"] == name)
    };
    let context = match (OWN_GROUPS.contains(&one.group), one.json["responses"]["202"].is_object())
    {
        (_, true) => "bulk operation".to_owned(),
        (true, false) => format!("{name} result"),
        (false, false) => format!("{} {name}", one.group),
    };
    let (has_id, mut parameters) = parameters(types, one);
    let answer = match schema {
        None => Answer::Nothing,
        Some(schema) => answer(types, &mut parameters, schema, &context),
    };
    parameters.retain(|parameter| !is_handled(one, parameter));
    let text = |name: &str| one.json[name].as_str().unwrap_or_default();
    let about = [text("summary")].into_iter().chain(text("description").split("\n\n"));
    Method {
        name: name.to_owned(),
        path: one.path.to_owned(),
        about: about.filter(|text| !text.is_empty()).map(sentence).collect(),
        has_id,
        parameters,
        body: body(types, one, name),
        answer,
        is_keyed: header("Idempotency-Key"),
        takes_if_match: header("If-Match"),
        takes_if_none_match: header("If-None-Match") && one.http == "PUT",
        http: one.http.clone(),
    }
}

/// Whether a parameter is not one of a method: queries have pages and `live` of their own, and
/// `keyloom explain` explains changes.
fn is_handled(one: &Described<'_>, parameter: &Parameter) -> bool {
    match parameter.option() {
        Some("cursor" | "live") => true,
        Some("explain") => one.http != "GET",
        Some(_) | None => false,
    }
}

fn answer<'d>(
    types: &mut Types<'d>,
    parameters: &mut Vec<Parameter>,
    schema: &'d Json,
    context: &str,
) -> Answer {
    let wire_name = |parameters: &[Parameter], name: &str| {
        let found = parameters.iter().find(|one| one.option() == Some(name));
        found.map(|parameter| parameter.wire_name.clone())
    };
    let resolved = types.resolved(schema);
    let items = &resolved["properties"]["items"]["items"];
    let cursor = wire_name(parameters, "cursor").filter(|_| items.is_object());
    let fields = wire_name(parameters, "fields");
    match (cursor, fields) {
        (Some(cursor), fields) => {
            let fields = fields.filter(|_| is_entity(items));
            remove_fields(parameters, fields.as_deref());
            let item = types.shape(items, &format!("{context} item"));
            Answer::Pages { item, cursor, fields }
        }
        (None, Some(fields)) if is_entity(schema) => {
            remove_fields(parameters, Some(&fields));
            Answer::Entity { shape: types.shape(schema, context), fields }
        }
        (None, fields) => {
            // A page of at most one entity has whole ones only.
            remove_fields(parameters, fields.filter(|_| is_entity(items)).as_deref());
            Answer::Value(types.shape(schema, context))
        }
    }
}

/// Queries choose fields by a method, which returns another type.
fn remove_fields(parameters: &mut Vec<Parameter>, fields: Option<&str>) {
    parameters.retain(|parameter| Some(parameter.wire_name.as_str()) != fields);
}

/// Whether a response has an entity, or a part of one.
fn is_entity(schema: &Json) -> bool {
    let forms = schema["anyOf"].as_array().into_iter().flatten();
    forms.filter_map(reference).any(|name| name.ends_with(".part"))
}

fn body(types: &mut Types<'_>, one: &Described<'_>, name: &str) -> Option<Body> {
    let content = &one.json["requestBody"]["content"];
    let media_type = match content[MERGE_PATCH].is_object() {
        true => MERGE_PATCH,
        false => JSON,
    };
    let schema = &content[media_type]["schema"];
    let group = if OWN_GROUPS.contains(&one.group) { "" } else { one.group };
    let context = format!("{IN_BODY}{group} {name} request");
    schema.is_object().then(|| Body { shape: types.shape(schema, &context), media_type })
}

/// A summary as a sentence.
fn sentence(text: &str) -> String {
    let ends = text.ends_with(['.', '!', '?']);
    if ends { text.to_owned() } else { format!("{text}.") }
}
