//! Documents that a model would take, for people to begin with.

use keyloom_model::{
    Entity, Field, FieldOrigin, FieldType, IdSource, Limits, Model, Presence, Tenancy,
};
use serde_json::{Map, Value, json};

/// A document of an entity: what must be given, and nothing else.
pub(crate) fn example(model: &Model, entity: &Entity) -> Value {
    let mut document = Map::new();
    for (id, field) in entity.fields() {
        let is_tenant = entity.tenancy == Tenancy::Own(id);
        let is_needed = match field.origin {
            FieldOrigin::Id => entity.id_source == IdSource::Given,
            FieldOrigin::Parent => true,
            FieldOrigin::Declared => {
                field.presence == Presence::Required && field.default.is_none() && !is_tenant
            }
        };
        if is_needed {
            document.insert(field.name.clone(), of_field(model, field));
        }
    }
    Value::Object(document)
}

fn of_field(model: &Model, field: &Field) -> Value {
    match (&field.of, field.origin) {
        (_, FieldOrigin::Id) => json!("a1"),
        (FieldType::Ref(target, _), _) => json!(format!("ID OF {}", model.entity(*target).name)),
        (FieldType::Text(limits), _) => text(&field.name, limits),
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
        FieldType::Bytes(_) => json!("aGVsbG8="),
        FieldType::Tags => json!({ "priority": "high" }),
        FieldType::Enum(members) => json!(members.first()),
        FieldType::List(of, limits) => {
            let count = limits.low.unwrap_or(1).min(10);
            json!((0..count).map(|_| of_type(of)).collect::<Vec<_>>())
        }
        FieldType::Map(of, limits) => {
            let count = limits.low.unwrap_or(1).min(10);
            let member = |index| (format!("name{index}"), of_type(of));
            Value::Object((1..=count).map(member).collect())
        }
        _ => json!("anything"),
    }
}

/// The name of a field as its value, as long as it may be.
fn text(name: &str, limits: &Limits<u64>) -> Value {
    let longest = usize::try_from(limits.high.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let shortest = usize::try_from(limits.low.unwrap_or(0)).unwrap_or(0).min(1000);
    let text: String = name.replace('_', " ").chars().take(longest).collect();
    json!(format!("{text:x<shortest$}"))
}
