//! JSON Schemas of an entity: for responses, and for creating, replacing and patching it.

use keyloom_model::{
    Entity, EntityId, Field, FieldAccess, FieldOrigin, FieldType, Format, FormatChoice, IdSource,
    Limits, Model, Presence,
};
use serde_json::{Map, Value as Json, json};

use super::super::example::is_needed;
use super::component::component;
use super::cost::explained;
use super::field::{Form, id, one_text, or_null, schema, with};
use super::related::with_others;
use super::sentence::rule;
use super::{count, related};

/// The schemas of an entity and their names. Names of entities contain no dot and do not begin with a
/// capital, so they are unique.
pub(super) fn schemas(model: &Model, id: EntityId) -> Vec<(String, Json)> {
    let entity = model.entity(id);
    let name = &entity.name;
    let mut schemas = vec![
        (name.clone(), shown(model, id)),
        (format!("{name}.part"), part(model, id)),
        (format!("{name}.create"), create(model, entity, Names::Unknown)),
        (format!("{name}.replace"), replace(model, entity, Names::Unknown)),
        (format!("{name}.patch"), patch(model, entity, Names::Unknown)),
        (format!("{name}.patch.all"), patch_all(model, entity)),
        (format!("{name}.create.named"), create(model, entity, Names::Known)),
        (format!("{name}.replace.named"), replace(model, entity, Names::Known)),
        (format!("{name}.patch.named"), patch(model, entity, Names::Known)),
        (format!("{name}.page"), page(entity)),
    ];
    schemas.extend(related::schema(model, id));
    schemas.extend(count::schemas(entity));
    schemas
}

/// A reference to the schema of an entity, or of what is left of it if `fields` is given.
pub(crate) fn shown_or_part(entity: &Entity) -> Json {
    json!({ "anyOf": [reference(entity, ""), reference(entity, ".part")] })
}

/// A reference to one of them: `part` is empty, `.part`, `.with`, `.create`, `.replace`, `.patch`,
/// `.patch.all` or `.page`; with `.named` after one of the first three changes, the document can contain names of a
/// transaction.
pub(crate) fn reference(entity: &Entity, part: &str) -> Json {
    component(&format!("{}{part}", entity.name))
}

/// Whether names can stand for ids: in transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Known,
    Unknown,
}

impl Names {
    /// Extends the schema of a field by names, where they are known.
    fn extend(self, field: &Field, mut values: Json) -> Json {
        match (&field.of, self) {
            (FieldType::Ref(..) | FieldType::Text(_), Names::Known) => or_named(values),
            (FieldType::List(of, _), Names::Known)
                if matches!(**of, FieldType::Ref(..) | FieldType::Text(_)) =>
            {
                values["items"] = or_named(values["items"].take());
                values
            }
            _ => values,
        }
    }

    fn extend_id(self, id: Json) -> Json {
        if self == Names::Known { or_named(id) } else { id }
    }
}

fn shown(model: &Model, entity_id: EntityId) -> Json {
    let entity = model.entity(entity_id);
    let mut properties = Map::from_iter([
        ("id".to_owned(), with(with(id(), "readOnly", true), "description", "The id.")),
        ("version".to_owned(), version_shown()),
        ("explain".to_owned(), explained()),
    ]);
    properties.extend(with_others(model, entity_id).map(|others| ("with".to_owned(), others)));
    let mut required = vec!["id", "version"];
    for field in settable(entity) {
        // An absent field with a default is shown as null.
        let is_shown = field.presence == Presence::Required || field.default.is_some();
        required.extend(is_shown.then_some(field.name.as_str()));
        let is_null = field.presence == Presence::Optional && field.default.is_some();
        let values = schema(&field.of, Form::Shown);
        let values = if is_null { or_null(values) } else { values };
        let values = marked(field, values);
        properties.insert(field.name.clone(), described(model, entity, field, values));
    }
    object(properties, &required)
}

/// Some fields of an entity: as `fields` says.
fn part(model: &Model, id: EntityId) -> Json {
    with(shown(model, id), "required", ["id", "version"])
}

fn create(model: &Model, entity: &Entity, names: Names) -> Json {
    let is_had = |field: &Field| field.access == FieldAccess::ReadWrite;
    let mut properties = whole(model, entity, names, is_had);
    let mut required = needed(entity);
    properties.insert("version".to_owned(), version_shown());
    if entity.id_source == IdSource::Given {
        let id = with(id(), "description", "The id of the new entity.");
        properties.insert("id".to_owned(), names.extend_id(id));
        required.push("id");
    }
    by_members(entity, object(properties, &required))
}

fn replace(model: &Model, entity: &Entity, names: Names) -> Json {
    let mut properties = whole(model, entity, names, |_| true);
    properties.extend(of_request(names));
    by_members(entity, object(properties, &needed(entity)))
}

fn patch(model: &Model, entity: &Entity, names: Names) -> Json {
    let mut properties = patchable(model, entity, names);
    properties.extend(of_request(names));
    by_members(entity, object(properties, &[]))
}

/// A patch of many entities: it names none of them.
fn patch_all(model: &Model, entity: &Entity) -> Json {
    by_members(entity, object(patchable(model, entity, Names::Unknown), &[]))
}

fn patchable(model: &Model, entity: &Entity, names: Names) -> Map<String, Json> {
    let mut properties = Map::new();
    for field in settable(entity) {
        let values = or_null_if_optional(field, schema(&field.of, Form::Patched));
        let values = names.extend(field, formatted(entity, field, values));
        let values = marked(field, or_relative(field, values));
        properties.insert(field.name.clone(), described(model, entity, field, values));
    }
    properties
}

/// Extends a schema by the name of an entity of the same transaction; the description stays outside.
pub(crate) fn or_named(mut schema: Json) -> Json {
    let about = schema.as_object_mut().and_then(|members| members.remove("description"));
    let either = json!({ "anyOf": [schema, component("Named")] });
    match about {
        Some(about) => with(either, "description", about),
        None => either,
    }
}

/// Extends the schema of a number or a list in a patch by changes relative to its value.
fn or_relative(field: &Field, values: Json) -> Json {
    let relative = |name: &str, operand: Json| {
        json!({
            "type": "object", "properties": { name: operand }, "required": [name],
            "additionalProperties": false,
        })
    };
    let relative = match &field.of {
        FieldType::Int(_) | FieldType::Number(_) => {
            // The sum is checked, and what is added can be any number.
            let addend = schema(&FieldType::Number(Limits::NONE), Form::Given);
            relative("$add", addend)
        }
        FieldType::List(..) => {
            relative("$append", json!({ "type": "array", "items": values["items"] }))
        }
        _ => return values,
    };
    json!({ "anyOf": [values, relative] })
}

/// The schema of a name of an entity of the same transaction. No property is called `$ref` here, and no
/// example contains it: many programs would take that for a reference of the schema itself.
pub(super) fn name_of_entity() -> Json {
    json!({
        "type": "object",
        "description": "Stands for the id of the entity that an earlier change of the transaction \
                        creates `as` this name.",
        "propertyNames": { "type": "string", "enum": ["$ref"] },
        "additionalProperties": { "type": "string", "minLength": 1, "maxLength": 60 },
        "minProperties": 1, "maxProperties": 1,
    })
}

fn page(entity: &Entity) -> Json {
    let cursor = |about: &str| json!({ "type": "string", "description": about });
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let mut properties = Map::from_iter([
        ("items".to_owned(), json!({ "type": "array", "items": shown_or_part(entity) })),
        ("next".to_owned(), cursor("The `cursor` of the next page; absent at the end.")),
        ("previous".to_owned(), cursor("The `cursor` of the previous page; absent on the first.")),
    ]);
    properties.insert("explain".to_owned(), explained());
    if entity.has_ordinals() {
        properties.extend([
            ("total".to_owned(), count("Total number of matches, if requested.")),
            (
                "total_at_least".to_owned(),
                count("A lower bound of the total, if not everything was counted."),
            ),
        ]);
    }
    object(properties, &["items"])
}

/// The properties of a complete document, for the fields that pass `is_had`.
fn whole(
    model: &Model,
    entity: &Entity,
    names: Names,
    is_had: impl Fn(&Field) -> bool,
) -> Map<String, Json> {
    let property = |field: &Field| {
        let mut values = or_null_if_optional(field, schema(&field.of, Form::Given));
        values = names.extend(field, formatted(entity, field, values));
        // The description names the default: `default` would make the field required in clients generated
        // by openapi-typescript.
        values = marked(field, values);
        (field.name.clone(), described(model, entity, field, values))
    };
    settable(entity).filter(|field| is_had(field)).map(property).collect()
}

/// Adds the format of a text, if it is always the same, or its pattern.
fn formatted(entity: &Entity, field: &Field, mut schema: Json) -> Json {
    let id = entity.find_field(&field.name);
    if let Some(pattern) = id.and_then(|id| entity.pattern(id)) {
        let longest =
            schema["maxLength"].as_u64().unwrap_or(u64::MAX).min(Entity::PATTERN_TEXT_MAX as u64);
        return with(with(schema, "pattern", pattern), "maxLength", longest);
    }
    let rule = id.and_then(|id| entity.format_rule(id));
    let Some(FormatChoice::Always(format)) = rule.map(|rule| &rule.choice) else { return schema };
    let name = match format {
        Format::Email => Some("email"),
        Format::Url => Some("uri"),
        Format::Uuid => Some("uuid"),
        // The OpenAPI format registry has no name for it.
        Format::Phone | Format::Slug => None,
    };
    if let Some(name) = name {
        schema = with(schema, "format", name);
    }
    let longest = schema["maxLength"].as_u64().unwrap_or(u64::MAX).min(format.length_max());
    with(with(schema, "pattern", format.pattern()), "maxLength", longest)
}

/// Adds the formats that depend on the value of an enum.
fn by_members(entity: &Entity, document: Json) -> Json {
    let mut rules = vec![];
    for rule in &entity.formats {
        let FormatChoice::By(by, formats) = &rule.choice else { continue };
        let (by, name) = (&entity.field(*by).name, &entity.field(rule.field).name);
        rules.extend(formats.iter().map(|(member, format)| {
            let has = json!({ "properties": { by: one_text(member) }, "required": [by] });
            let values = json!({ "pattern": format.pattern(), "maxLength": format.length_max() });
            // Open, because some validators take every object of a closed one for closed.
            let then = json!({ "properties": { name: values }, "additionalProperties": true });
            json!({ "if": has, "then": then })
        }));
    }
    if rules.is_empty() { document } else { with(document, "allOf", rules) }
}

/// Marks read-only fields. A document may repeat them, as it may repeat the id.
fn marked(field: &Field, schema: Json) -> Json {
    match field.access {
        FieldAccess::ReadOnly => with(schema, "readOnly", true),
        FieldAccess::ReadWrite => schema,
    }
}

/// `id` and `version`, which documents for an existing entity may contain.
fn of_request(names: Names) -> [(String, Json); 2] {
    // Redundant, and must equal the id in the path.
    let id = with(with(id(), "readOnly", true), "description", "Must equal the id in the path.");
    [("id".to_owned(), names.extend_id(id)), ("version".to_owned(), version_expected())]
}

fn version_shown() -> Json {
    json!({
        "type": "string", "readOnly": true,
        "description": "Changes on every write; `ETag` has it in quotes.",
    })
}

fn version_expected() -> Json {
    json!({
        "type": ["string", "null"],
        "description": "Apply the change only if the entity has this version; same as `If-Match`.",
    })
}

fn settable(entity: &Entity) -> impl Iterator<Item = &Field> {
    entity.fields.iter().filter(|field| match field.origin {
        FieldOrigin::Id => false,
        FieldOrigin::Parent | FieldOrigin::Declared => true,
    })
}

/// The required fields of a complete document.
fn needed(entity: &Entity) -> Vec<&str> {
    let fields = settable(entity).filter(|field| is_needed(entity, field));
    fields.map(|field| field.name.as_str()).collect()
}

fn or_null_if_optional(field: &Field, schema: Json) -> Json {
    match field.presence {
        Presence::Optional => or_null(schema),
        Presence::Required => schema,
    }
}

fn described(model: &Model, entity: &Entity, field: &Field, schema: Json) -> Json {
    with(schema, "description", rule(model, entity, field))
}

fn object(properties: Map<String, Json>, required: &[&str]) -> Json {
    let schema = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    if required.is_empty() { schema } else { with(schema, "required", required) }
}
