//! Parameters of operations: what their values are, and how a query writes them. `rest/parameters.rs` and
//! `rest/filter.rs` of the server have the grammar.

use serde_json::Value as Json;

use super::api::{Location, Parameter, Shape, Wire};
use super::described::Described;
use super::names::{Names, snake};
use super::schema::Types;

/// Members of entities that are not fields.
const NO_FIELDS: [&str; 4] = ["id", "version", "with", "explain"];

/// Whether the path has the id of an entity, and all other parameters of path and query.
pub(super) fn parameters(types: &mut Types<'_>, one: &Described<'_>) -> (bool, Vec<Parameter>) {
    let all = || one.json["parameters"].as_array().into_iter().flatten();
    let is_id = |parameter: &&Json| parameter["in"] == "path" && parameter["name"] == "id";
    let rest = all().filter(|parameter| parameter["in"] != "header" && !is_id(parameter));
    let mut found: Vec<Parameter> =
        rest.map(|parameter| self::parameter(types, one.group, parameter)).collect();
    // A field has its own name, and an option beside it that of the field with a `$`.
    found.sort_by_key(|parameter| parameter.wire_name.starts_with('$'));
    let mut names = Names::default();
    for parameter in &mut found {
        parameter.name = names.claim(snake(&parameter.wire_name));
    }
    found.sort_by_key(|parameter| !parameter.is_required);
    (all().any(|parameter| is_id(&parameter)), found)
}

fn parameter(types: &mut Types<'_>, entity: &str, json: &Json) -> Parameter {
    let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    let (wire_name, about) = (text("name"), text("description"));
    let in_path = json["in"] == "path";
    let location = if in_path { Location::Path } else { Location::Query };
    let is_field = !in_path && !is_tags(json) && !NO_FIELDS.contains(&wire_name.as_str());
    let field = types.property(entity, &wire_name).filter(|_| is_field);
    let (wire, shape) = match field {
        Some(field) => (of_field(json), types.shape(field, entity)),
        None => option(types, &wire_name, json),
    };
    Parameter {
        name: String::new(),
        wire_name,
        location,
        wire,
        shape: as_parameter(shape),
        is_required: json["required"] == true,
        // The schema of a text cannot say it, the description does.
        or_presence: about.contains("`!*`"),
        about: described(wire, json["name"].as_str().unwrap_or_default(), about),
    }
}

/// What a parameter means. The document describes how it is written, which clients take care of.
fn described(wire: Wire, name: &str, about: String) -> String {
    let of = name.replace('_', " ");
    match wire {
        Wire::Value => format!("The {of}."),
        Wire::Range => format!("The {of}, or bounds of it."),
        Wire::Facet => format!("The {of}: one value, or several of which any matches."),
        Wire::RangeOrFacet => {
            format!("The {of}: one value, several of which any matches, or bounds.")
        }
        Wire::Presence => format!("Whether there is a {of}."),
        Wire::Each => {
            "Tags, each made by a function of this module. All of them must match.".to_owned()
        }
        Wire::Joined => about.replace(", several paths with commas", ""),
        Wire::Text => about,
    }
}

/// How the value of a field is written.
fn of_field(json: &Json) -> Wire {
    let schema = &json["schema"];
    match (schema["type"] == "array", json["explode"] == true) {
        (true, true) if schema["maxItems"] == 2 => Wire::Range,
        (true, true) => Wire::RangeOrFacet,
        (true, false) => Wire::Facet,
        (false, _) if schema["enum"][0] == "*" => Wire::Presence,
        (false, _) => Wire::Value,
    }
}

/// A parameter that is not a field.
fn option(types: &mut Types<'_>, name: &str, json: &Json) -> (Wire, Shape) {
    let shape = types.shape(&json["schema"], name);
    match (json["schema"]["type"] == "array", json["explode"] == true) {
        (true, true) => (Wire::Each, shape),
        (true, false) => (Wire::Joined, shape),
        (false, _) if name == "with" => (Wire::Joined, Shape::List(Box::new(Shape::Text))),
        (false, _) => (Wire::Text, shape),
    }
}

/// Whether a parameter takes tags, which can have the name of the field that holds them.
fn is_tags(json: &Json) -> bool {
    let pattern = json["schema"]["items"]["pattern"].as_str();
    pattern.is_some_and(|pattern| pattern.starts_with("^!?("))
}

/// The shape of a value in a parameter: there is always one, and a time can be a date.
fn as_parameter(shape: Shape) -> Shape {
    match shape {
        Shape::Time | Shape::GivenTime => Shape::Moment,
        Shape::Either(parts) => {
            let mut parts: Vec<Shape> =
                parts.into_iter().filter(|part| *part != Shape::Null).map(as_parameter).collect();
            if parts.len() == 1 { parts.remove(0) } else { Shape::Either(parts) }
        }
        other => other,
    }
}
