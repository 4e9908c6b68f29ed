//! Example documents of a model.

use std::fmt::Display;

use keyloom::Value as Stored;
use keyloom_model::{
    DefaultValue, Entity, Field, FieldId, FieldOrigin, FieldType, FormatChoice, IdSource, Limits,
    Literal, Model, Presence, Tenancy,
};
use serde_json::{Map, Value, json};

use crate::base64;

/// An id and a version as Keyloom generates them.
const ID: &str = "01kdvpxz80r3n5m8c2q7t9w4ya";
const VERSION: &str = "01kdvpxz81h6b2e8s4v0k9d7fg";

/// The most characters, bytes or elements of an example, whatever the least is.
const LENGTH_MAX: u64 = 1000;

/// When examples expire: an entity that has expired is created, and seen by nobody.
const STILL_TO_COME: &str = "2099-12-31T12:00:00Z";

/// A document to create an entity, with the required fields only.
pub(crate) fn example(model: &Model, entity: &Entity) -> Value {
    let mut document = Map::new();
    for (id, field) in entity.fields() {
        let is_parent = field.origin == FieldOrigin::Parent;
        if is_parent || is_needed(entity, field) {
            document.insert(field.name.clone(), of_field(model, entity, id));
        }
    }
    add_formats(entity, &mut document);
    Value::Object(document)
}

/// Whether a field is required in a complete document.
pub(crate) fn is_needed(entity: &Entity, field: &Field) -> bool {
    let is_tenant = match entity.tenancy {
        Tenancy::Own(tenant) => entity.field(tenant).name == field.name,
        Tenancy::Shared | Tenancy::Inherited(_) => false,
    };
    match field.origin {
        FieldOrigin::Id => entity.id_source == IdSource::Given,
        FieldOrigin::Parent | FieldOrigin::Declared => {
            let is_required = field.presence == Presence::Required && field.default.is_none();
            is_required && !is_tenant && !entity.is_assigned(field)
        }
    }
}

/// The same entity as a response shows it.
pub(crate) fn shown(model: &Model, entity: &Entity) -> Value {
    let mut shown = Map::new();
    for (id, field) in entity.fields() {
        let is_needed = field.presence == Presence::Required || entity.tenancy == Tenancy::Own(id);
        if let Some(default) = &field.default {
            let now = matches!(default, DefaultValue::Now).then(|| of_type(&field.of));
            shown.extend(default_of(field).or(now).map(|value| (field.name.clone(), value)));
        } else if is_needed {
            shown.insert(field.name.clone(), of_field(model, entity, id));
        }
    }
    add_formats(entity, &mut shown);
    if entity.id_source == IdSource::Generated {
        shown.insert("id".to_owned(), json!(ID));
    }
    shown.insert("version".to_owned(), json!(VERSION));
    Value::Object(shown)
}

/// Replaces texts by examples of the format that they must have.
fn add_formats(entity: &Entity, document: &mut Map<String, Value>) {
    for rule in &entity.formats {
        let format = match &rule.choice {
            FormatChoice::Always(format) => Some(*format),
            FormatChoice::By(by, formats) => {
                let has = document.get(&entity.field(*by).name).and_then(Value::as_str);
                formats.iter().find(|(member, _)| Some(member.as_str()) == has).map(|of| of.1)
            }
        };
        if let (Some(text), Some(format)) =
            (document.get_mut(&entity.field(rule.field).name), format)
        {
            *text = json!(format.example());
        }
    }
}

/// The default of a field, if it is constant and JSON can represent it exactly.
pub(crate) fn default_of(field: &Field) -> Option<Value> {
    match &field.default {
        Some(DefaultValue::Literal(literal)) => literal_of(field, literal),
        Some(DefaultValue::Now) | None => None,
    }
}

/// A literal of the model as JSON.
pub(crate) fn literal_of(field: &Field, literal: &Literal) -> Option<Value> {
    match field.of.to_external(&DefaultValue::Literal(literal.clone()).value(0)) {
        Stored::S(text) => Some(json!(text)),
        Stored::N(number) => exact(&number),
        Stored::Bool(truth) => Some(json!(truth)),
        Stored::L(_) => Some(json!([])),
        Stored::M(_) => Some(json!({})),
        _ => None,
    }
}

/// A number as JSON, if JSON represents it exactly.
pub(crate) fn exact(number: &impl Display) -> Option<Value> {
    let text = number.to_string();
    let whole = text.parse::<i64>().ok().map(Value::from);
    let float = || text.parse::<f64>().ok().filter(|float| float.to_string() == text);
    whole.or_else(|| float().map(Value::from))
}

fn of_field(model: &Model, entity: &Entity, id: FieldId) -> Value {
    if let Some([first, ..]) = entity.initial(id) {
        return json!(first);
    }
    if entity.expires == Some(id) {
        return json!(STILL_TO_COME);
    }
    // Characters in their order, such as `ABC-345`.
    let mut order = 0..;
    if let Some(text) = entity.pattern_text(id, |count| order.next().unwrap_or(0) % count) {
        return json!(text);
    }
    let field = entity.field(id);
    match (&field.of, field.origin) {
        (_, FieldOrigin::Id) => json!("a1"),
        (FieldType::Ref(target, _), _) => json!(format!("ID OF {}", model.entity(*target).name)),
        (FieldType::Text(limits), _) => text(&field.name, limits),
        (FieldType::List(of, limits), _) => match **of {
            FieldType::Ref(target, _) => {
                let id = format!("ID OF {}", model.entity(target).name);
                json!(vec![id; length(limits, 1)])
            }
            _ => of_type(&field.of),
        },
        (of, _) => of_type(of),
    }
}

fn of_type(of: &FieldType) -> Value {
    match of {
        FieldType::Text(limits) => text("text", limits),
        FieldType::Int(limits) => json!(limits.low.or(limits.high).unwrap_or(1)),
        FieldType::Number(limits) => {
            let number = limits.low.or(limits.high).map(|number| number.to_string());
            let number = number.and_then(|number| number.parse::<f64>().ok());
            json!(number.unwrap_or(1.5))
        }
        FieldType::Bool => json!(true),
        FieldType::Time => json!("2026-01-01T12:00:00Z"),
        FieldType::Bytes(limits) => {
            let bytes = b"hello".iter().copied().chain(std::iter::repeat(b'!'));
            json!(base64::encode(&bytes.take(length(limits, 5)).collect::<Vec<u8>>()))
        }
        FieldType::Tags => json!({ "priority": "high" }),
        FieldType::Enum(members) => json!(members.first()),
        FieldType::List(of, limits) => {
            json!((0..length(limits, 1)).map(|_| of_type(of)).collect::<Vec<_>>())
        }
        FieldType::Map(of, limits) => {
            let member = |index| (format!("name{index}"), of_type(of));
            Value::Object((1..=length(limits, 1)).map(member).collect())
        }
        // `of_field` handles references, in fields and in lists.
        FieldType::Any | FieldType::Ref(..) => json!("anything"),
    }
}

/// The name of a field as its example value, within the limits.
fn text(name: &str, limits: &Limits<u64>) -> Value {
    let name = name.replace('_', " ");
    let count = length(limits, name.chars().count() as u64);
    json!(name.chars().chain(std::iter::repeat('x')).take(count).collect::<String>())
}

/// A length within the limits, as near to a natural one as they allow.
fn length(limits: &Limits<u64>, natural: u64) -> usize {
    let high = limits.high.unwrap_or(u64::MAX);
    let length = natural.max(limits.low.unwrap_or(0)).min(high).min(LENGTH_MAX.max(natural));
    usize::try_from(length).unwrap_or_default()
}
