//! JSON Schemas of field types. They express every rule of the model that JSON Schema can express. A rule
//! that it cannot, such as the bytes of a text, makes the schema wider than the model, never narrower.

use std::fmt::Display;

use keyloom_model::{FieldType, Limits};
use serde_json::{Map, Value as Json, json};

use super::super::example::exact;

/// Reference to the schema of any JSON value.
pub(super) const ANYTHING: &str = "#/components/schemas/Anything";

/// Ids contain no control characters, and are not `.` or `..`, which clients remove from paths.
const ID_PATTERN: &str = r"^(?!\.{1,2}$)[^\u0000-\u001F\u007F-\u009F]+$";
/// Base64 of whole bytes, in either alphabet, with or without padding.
const BASE64_PATTERN: &str = "^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-][AQgw](?:==)?\
                              |[A-Za-z0-9+/_-]{2}[AEIMQUYcgkosw048]=?)?$";
/// The moments of the years 0000 to 9999, in milliseconds since 1970.
const MOMENTS_MS: (i64, i64) = (-62_167_219_200_000, 253_402_300_799_999);

/// Where a value is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In a response.
    Shown,
    /// In a complete document.
    Given,
    /// In a merge patch: maps contain what changes, and null for what is removed.
    Patched,
}

/// The schema of the values of a type.
pub(crate) fn schema(of: &FieldType, form: Form) -> Json {
    match of {
        FieldType::Text(limits) => with_limits("string", ["minLength", "maxLength"], limits),
        FieldType::Int(limits) => {
            let (low, high) = (limits.low.unwrap_or(i64::MIN), limits.high.unwrap_or(i64::MAX));
            json!({ "type": "integer", "format": "int64", "minimum": low, "maximum": high })
        }
        FieldType::Number(limits) => number(limits.low.as_ref(), limits.high.as_ref()),
        FieldType::Bool => json!({ "type": "boolean" }),
        FieldType::Time => time(form),
        FieldType::Bytes(limits) => bytes(limits),
        FieldType::Tags => tags(form),
        FieldType::Enum(members) => json!({ "type": "string", "enum": members }),
        FieldType::Ref(..) => id(),
        FieldType::List(of, limits) => {
            let of = schema(of, if form == Form::Patched { Form::Given } else { form });
            let list = with_limits("array", ["minItems", "maxItems"], limits);
            with(list, "items", of)
        }
        FieldType::Map(of, limits) => map(of, limits, form),
        FieldType::Any => json!({ "$ref": ANYTHING, "not": { "type": "null" } }),
    }
}

/// Extends a schema by null.
pub(super) fn or_null(mut schema: Json) -> Json {
    let Some(members) = schema.as_object_mut() else { return schema };
    if members.contains_key("$ref") {
        members.remove("not");
        return schema;
    }
    if let Some(of) = members.get_mut("type") {
        let types = match of.take() {
            Json::Array(types) => types,
            one => vec![one],
        };
        *of = Json::Array(types.into_iter().chain([json!("null")]).collect());
    }
    if let Some(Json::Array(values)) = members.get_mut("enum") {
        values.push(Json::Null);
    }
    schema
}

/// Adds a member to a schema.
pub(crate) fn with(mut schema: Json, name: &str, value: impl Into<Json>) -> Json {
    if let Some(members) = schema.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
    schema
}

/// The schema of an id.
pub(crate) fn id() -> Json {
    json!({ "type": "string", "minLength": 1, "maxLength": 256, "pattern": ID_PATTERN })
}

/// The schema of a decimal number that can be stored: up to 38 digits, 0 or from 1E-130 to 9.99E+125.
pub(super) fn number<N: Display>(low: Option<&N>, high: Option<&N>) -> Json {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("number"));
    // A rounded bound could reject a value that the model accepts.
    match low.map(exact) {
        Some(low) => drop(low.map(|low| schema.insert("minimum".to_owned(), low))),
        None => drop(schema.insert("exclusiveMinimum".to_owned(), json!(-1e126))),
    }
    match high.map(exact) {
        Some(high) => drop(high.map(|high| schema.insert("maximum".to_owned(), high))),
        None => drop(schema.insert("exclusiveMaximum".to_owned(), json!(1e126))),
    }
    let too_small = json!({
        "type": "number", "exclusiveMinimum": -1e-130, "exclusiveMaximum": 1e-130,
        "not": { "type": "number", "const": 0 },
    });
    schema.insert("not".to_owned(), too_small);
    Json::Object(schema)
}

fn with_limits(of: &str, [least, most]: [&str; 2], limits: &Limits<u64>) -> Json {
    let mut schema = Map::from_iter([("type".to_owned(), json!(of))]);
    schema.extend(limits.low.map(|low| (least.to_owned(), json!(low))));
    schema.extend(limits.high.map(|high| (most.to_owned(), json!(high))));
    Json::Object(schema)
}

/// Responses contain times as text; documents may also have milliseconds.
fn time(form: Form) -> Json {
    match form {
        Form::Shown => json!({ "type": "string", "format": "date-time" }),
        Form::Given | Form::Patched => json!({
            "type": ["string", "integer"], "format": "date-time",
            "minimum": MOMENTS_MS.0, "maximum": MOMENTS_MS.1,
        }),
    }
}

/// The limits count bytes: three of them are four characters, with or without padding.
fn bytes(limits: &Limits<u64>) -> Json {
    let low = limits.low.map(|low| low.saturating_mul(4).div_ceil(3));
    let high = limits.high.map(|high| high.div_ceil(3).saturating_mul(4));
    let schema = with_limits("string", ["minLength", "maxLength"], &Limits { low, high });
    with(with(schema, "contentEncoding", "base64"), "pattern", BASE64_PATTERN)
}

fn tags(form: Form) -> Json {
    let value = json!({ "type": "string", "maxLength": 1024 });
    let schema = json!({
        "type": "object",
        "propertyNames": { "type": "string", "minLength": 1, "maxLength": 128 },
    });
    match form {
        Form::Patched => with(schema, "additionalProperties", or_null(value)),
        Form::Shown | Form::Given => {
            with(with(schema, "additionalProperties", value), "maxProperties", 200)
        }
    }
}

fn map(of: &FieldType, limits: &Limits<u64>, form: Form) -> Json {
    let value = schema(of, form);
    let names = json!({ "type": "string", "minLength": 1, "maxLength": 1024 });
    // A patch does not determine the number of members.
    let (value, limits) = match form {
        Form::Patched => (or_null(value), &Limits::NONE),
        Form::Shown | Form::Given => (value, limits),
    };
    let schema = with_limits("object", ["minProperties", "maxProperties"], limits);
    with(with(schema, "propertyNames", names), "additionalProperties", value)
}

/// The schema of fields of type `any`. The contents of lists and maps are not described further: many
/// programs do not support recursive schemas.
pub(super) fn anything() -> Json {
    let number = number::<u8>(None, None);
    json!({
        "description": "Any JSON value, nested up to 16 levels; names are not empty, and numbers \
                        have up to 38 digits.",
        "anyOf": [
            { "type": ["string", "boolean", "null"] },
            number,
            { "type": "array", "items": any_value() },
            {
                "type": "object",
                "propertyNames": { "type": "string", "minLength": 1, "maxLength": 1024 },
                "additionalProperties": any_value(),
            },
        ],
    })
}

/// The schema of JSON that nothing is known of.
pub(crate) fn any_value() -> Json {
    json!({ "description": "Any JSON value." })
}

/// The schema of a JSON object that nothing is known of.
pub(crate) fn any_object() -> Json {
    json!({ "type": "object", "additionalProperties": any_value() })
}

/// The schema of one text.
pub(crate) fn one_text(text: &str) -> Json {
    json!({ "type": "string", "const": text })
}

/// The schema of an object with exactly these properties.
pub(crate) fn object(properties: &[(&str, Json)], required: &[&str]) -> Json {
    let properties: Map<String, Json> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}
