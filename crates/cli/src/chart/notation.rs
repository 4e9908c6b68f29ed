//! Field types, filters and keys in the notation of charts.

use std::fmt::Display;

use keyloom::Value;
use keyloom_model::{
    DefaultValue, Direction, Entity, Field, FieldAccess, FieldType, FormatChoice, KeyPart, Limits,
    Literal, Model, OnDelete, Presence, Tenancy, Test,
};

/// The type of a field as the model file declares it, such as `int? 1.. = 4`, followed by its format and
/// access rules, such as `read-only`.
pub(super) fn field_type(field: &Field, (entity, model): (&Entity, &Model)) -> String {
    let mark = match field.presence {
        Presence::Optional => "?",
        Presence::Required => "",
    };
    let (name, range) = split(&field.of, model);
    let default = field.default.as_ref().map(|default| match default {
        DefaultValue::Now => " = now".to_owned(),
        DefaultValue::Literal(literal) => format!(" = {}", literal_text(literal)),
    });
    let rule = entity.find_field(&field.name).and_then(|id| entity.format_rule(id));
    let format = match rule.map(|rule| &rule.choice) {
        None => String::new(),
        Some(FormatChoice::Always(format)) => format!(", {}", format.name()),
        Some(FormatChoice::By(by, _)) => format!(", format by {}", entity.field(*by).name),
    };
    let access = match field.access {
        FieldAccess::ReadOnly => ", read-only",
        FieldAccess::ReadWrite => "",
    };
    format!("{name}{mark}{range}{}{format}{access}", default.unwrap_or_default())
}

/// The name and the range of a type.
fn split(of: &FieldType, model: &Model) -> (String, String) {
    let plain = |range: String| (of.name().to_owned(), range);
    match of {
        FieldType::Text(limits) | FieldType::Bytes(limits) => plain(range(limits)),
        FieldType::Int(limits) => plain(range(limits)),
        FieldType::Number(limits) => plain(range(limits)),
        FieldType::Enum(words) => (format!("enum({})", words.join(", ")), String::new()),
        FieldType::Ref(target, on_delete) => {
            let rule = match on_delete {
                OnDelete::Refuse => "refuse",
                OnDelete::Cascade => "cascade",
                OnDelete::Clear => "clear",
                OnDelete::Keep => "keep",
            };
            (format!("ref {} {rule}", model.entity(*target).name), String::new())
        }
        FieldType::List(element, limits) | FieldType::Map(element, limits) => {
            (format!("{} of {}", of.name(), split(element, model).0), range(limits))
        }
        FieldType::Bool | FieldType::Time | FieldType::Any | FieldType::Tags => {
            plain(String::new())
        }
    }
}

fn range<T: Display>(limits: &Limits<T>) -> String {
    let bound = |bound: &Option<T>| bound.as_ref().map(ToString::to_string).unwrap_or_default();
    match (&limits.low, &limits.high) {
        (None, None) => String::new(),
        (low, high) => format!(" {}..{}", bound(low), bound(high)),
    }
}

fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Text(text) if is_word(text) => text.clone(),
        Literal::Text(text) => format!("'{text}'"),
        Literal::Int(number) => number.to_string(),
        Literal::Number(number) => number.to_string(),
        Literal::Bool(truth) => truth.to_string(),
        Literal::Time(moment) => match FieldType::Time.to_external(&Value::from(*moment)) {
            Value::S(text) => text,
            other => other.to_string(),
        },
        Literal::EmptyList => "[]".to_owned(),
        Literal::EmptyMap => "{}".to_owned(),
        _ => "…".to_owned(),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The filter of a list, such as ` where done = false`; empty without one.
pub(super) fn filter(tests: &[Test], entity: &Entity) -> String {
    if tests.is_empty() {
        return String::new();
    }
    let test =
        |test: &Test| format!("{} = {}", entity.field(test.field).name, literal_text(&test.value));
    format!(" where {}", tests.iter().map(test).collect::<Vec<_>>().join(" and "))
}

/// The parts of a key, separated by spaces.
pub(super) fn key(parts: &[KeyPart], entity: &Entity, model: &Model) -> String {
    let part = |part: &KeyPart| match part {
        KeyPart::Word(word) if word.contains(' ') => format!("\"{word}\""),
        KeyPart::Word(word) => word.clone(),
        KeyPart::Number(number) => number.to_string(),
        KeyPart::Facet(field) => format!("{{{}}}", entity.field(*field).name),
        KeyPart::Score => "-{count}".to_owned(),
        KeyPart::Window(unit) => format!("{{{}}}", unit.name()),
        KeyPart::Tenant => format!("{{{}}}", tenant(entity, model)),
        KeyPart::Field { field, direction, .. } => {
            let sign = match direction {
                Direction::Ascending => "",
                Direction::Descending => "-",
            };
            format!("{sign}{{{}}}", entity.field(*field).name)
        }
        _ => "…".to_owned(),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// The name of an entity's tenant field; empty if it is shared.
pub(super) fn tenant<'m>(entity: &'m Entity, model: &'m Model) -> &'m str {
    match entity.tenancy {
        Tenancy::Shared => "",
        Tenancy::Own(field) => &entity.field(field).name,
        Tenancy::Inherited(ancestor) => {
            let ancestor = model.entity(ancestor);
            match ancestor.tenancy {
                Tenancy::Own(field) => &ancestor.field(field).name,
                Tenancy::Shared | Tenancy::Inherited(_) => "",
            }
        }
    }
}
