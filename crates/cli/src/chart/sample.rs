//! Sample rows: two entities of each kind, which refer to the first one of every other kind, with their
//! derived rows. The layout computes the rows; only the values are invented.

use keyloom::{Item, Value};
use keyloom_model::{
    Entity, EntityId, EntityKey, Field, FieldOrigin, FieldType, Image, KeyPart, KeyTemplate,
    Layout, Model, Reason, Row, Tenancy,
};

/// Noon of the first day of 2026.
const MOMENT_MS: i64 = 1_767_268_800_000;
const DAY_MS: i64 = 86_400_000;

/// A row of the table or of an index.
pub(super) struct SampleRow {
    /// The index of its entity in the model.
    pub(super) entity: usize,
    /// Why the row exists, such as `contact: unique`.
    pub(super) why: String,
    pub(super) partition: SampleKey,
    pub(super) sort: SampleKey,
    /// The names and values of the other attributes.
    pub(super) attributes: Vec<(String, String)>,
}

/// A partition or sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SampleKey {
    /// The names of the fields in it.
    pub(super) names: String,
    pub(super) values: String,
}

/// A secondary index with sample rows.
pub(super) struct SampleIndex {
    pub(super) name: String,
    /// The attributes of its partition and sort keys.
    pub(super) keys: (String, String),
    pub(super) rows: Vec<SampleRow>,
}

/// The rows of the table, in key order.
pub(super) fn table(layout: &Layout) -> Vec<SampleRow> {
    let mut rows = vec![];
    for image in images(layout) {
        let templates = layout.templates().rows(image.key.entity);
        // `rows` fails only on keys that are too long, and these are short.
        for row in layout.rows(&image).unwrap_or_default() {
            let template = templates.iter().find(|(reason, _)| *reason == row.reason);
            if let Some((_, template)) = template {
                let drawn = table_row(layout, &image, (&row, template));
                rows.push((row.key, drawn));
            }
        }
    }
    rows.sort_by(|(left, _), (right, _)| left.cmp(right));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The indexes, each with its rows in key order.
pub(super) fn indexes(layout: &Layout) -> Vec<SampleIndex> {
    let numbers = (0..).take(layout.slot_count());
    numbers.map(|number| index(layout, keyloom_model::Slot::new(number))).collect()
}

fn index(layout: &Layout, slot: keyloom_model::Slot) -> SampleIndex {
    let keys = (slot.partition().as_str().to_owned(), slot.sort().as_str().to_owned());
    let mut rows = vec![];
    for image in images(layout) {
        let id = image.key.entity;
        let entity = layout.model().entity(id);
        let lists = entity.lists().filter(|(list, _)| layout.lists().slot(id, *list) == slot);
        let lists = lists
            .map(|(list, declared)| (declared.name.clone(), layout.templates().list(id, list)));
        let facets =
            entity.lists().filter(|(list, _)| layout.facets().slot(id, *list) == Some(slot));
        let facets = facets.filter_map(|(list, declared)| {
            let name = format!("{} by facet", declared.name);
            Some((name, layout.templates().facet(id, list)?))
        });
        let expiry = layout.expiry().slot(id).filter(|own| *own == slot);
        let expiry = expiry.and_then(|_| layout.templates().expiry(id));
        let expiry = expiry.map(|template| ("expires".to_owned(), template));
        let Some(own) = layout.rows(&image).unwrap_or_default().into_iter().next() else {
            continue;
        };
        for (name, template) in lists.chain(facets).chain(expiry) {
            let key = (own.item.get(&keys.0).cloned(), own.item.get(&keys.1).cloned());
            let (Some(Value::B(partition)), Some(Value::B(sort))) = key else { continue };
            let row = index_row(layout, &image, (&name, &template));
            rows.push(((partition, sort), row));
        }
    }
    rows.sort_by(|(left, _), (right, _)| left.cmp(right));
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    SampleIndex { name: slot.name(), keys, rows }
}

fn table_row(layout: &Layout, image: &Image, (row, template): (&Row, &KeyTemplate)) -> SampleRow {
    let entity = layout.model().entity(image.key.entity);
    let owner = ("O".to_owned(), own_key(layout, image).values);
    let (why, attributes) = match row.reason {
        Reason::Own => (entity.name.clone(), fields(entity, image)),
        Reason::Guard(_) => (format!("{}: unique", entity.name), vec![owner]),
        Reason::Link(field) if entity.parent == Some(field) => {
            (format!("{}: child", entity.name), fields(entity, image))
        }
        Reason::Link(field) => {
            (format!("{}.{}", entity.name, entity.field(field).name), vec![owner])
        }
        Reason::Presence => (format!("{}: presence", entity.name), vec![owner]),
        Reason::Posting => (format!("{}: posting", entity.name), vec![owner]),
    };
    sample_row(layout, image, (why, template, attributes))
}

fn index_row(layout: &Layout, image: &Image, (list, template): (&str, &KeyTemplate)) -> SampleRow {
    let entity = layout.model().entity(image.key.entity);
    let attributes = vec![("PK".to_owned(), own_key(layout, image).values)];
    sample_row(layout, image, (format!("{}.{list}", entity.name), template, attributes))
}

fn sample_row(
    layout: &Layout,
    image: &Image,
    (why, template, attributes): (String, &KeyTemplate, Vec<(String, String)>),
) -> SampleRow {
    SampleRow {
        entity: image.key.entity.index(),
        why,
        partition: key(layout, image, &template.partition),
        sort: key(layout, image, &template.sort),
        attributes,
    }
}

fn own_key(layout: &Layout, image: &Image) -> SampleKey {
    let templates = layout.templates().rows(image.key.entity);
    let own = templates.into_iter().find(|(reason, _)| *reason == Reason::Own);
    let parts = own.map(|(_, template)| template.partition).unwrap_or_default();
    key(layout, image, &parts)
}

/// The names and values of a key.
fn key(layout: &Layout, image: &Image, parts: &[KeyPart]) -> SampleKey {
    let (model, entity) = (layout.model(), layout.model().entity(image.key.entity));
    let (mut names, mut values) = (vec![], vec![]);
    for part in parts {
        match part {
            KeyPart::Word(word) => values.push(word.clone()),
            KeyPart::Number(number) => values.push(number.to_string()),
            KeyPart::Score => values.push("1".to_owned()),
            KeyPart::Tenant => {
                names.push(super::notation::tenant(entity, model).to_owned());
                values.push(image.key.tenant.as_ref().map(plain).unwrap_or_default());
            }
            KeyPart::Facet(field) | KeyPart::Field { field, .. } => {
                let field = entity.field(*field);
                names.push(field.name.clone());
                values.push(match field.origin {
                    FieldOrigin::Id => image.key.id.clone(),
                    FieldOrigin::Parent | FieldOrigin::Declared => external(field, image),
                });
            }
            _ => {}
        }
    }
    SampleKey { names: names.join(" · "), values: values.join("·") }
}

fn fields(entity: &Entity, image: &Image) -> Vec<(String, String)> {
    let present = entity.fields.iter().filter(|field| image.fields.contains(&field.name));
    present.map(|field| (field.name.clone(), external(field, image))).collect()
}

/// The external form of a field's value.
fn external(field: &Field, image: &Image) -> String {
    image
        .fields
        .get(&field.name)
        .map(|value| plain(&field.of.to_external(value)))
        .unwrap_or_default()
}

fn plain(value: &Value) -> String {
    match value {
        Value::S(text) => text.clone(),
        Value::M(members) if members.is_empty() => "{}".to_owned(),
        Value::M(_) => "{…}".to_owned(),
        Value::L(elements) if elements.is_empty() => "[]".to_owned(),
        Value::L(_) => "[…]".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        other => other.to_string(),
    }
}

/// Two entities of each kind.
fn images(layout: &Layout) -> Vec<Image> {
    let model = layout.model();
    let pair = |(id, entity)| [1, 2].map(|number| image(model, (id, entity), number));
    model.entities().flat_map(pair).collect()
}

fn image(model: &Model, (id, entity): (EntityId, &Entity), number: i64) -> Image {
    let tenant = tenant(model, entity);
    let value = |field: &Field| {
        let is_tenant =
            matches!(entity.tenancy, Tenancy::Own(own) if entity.field(own).name == field.name);
        let value = match (&tenant, is_tenant) {
            (Some(tenant), true) => Some(tenant.clone()),
            (Some(_) | None, _) => value(model, (id, field), number),
        };
        value.map(|value| (field.name.as_str().into(), value))
    };
    let stored = entity.fields.iter().filter(|field| field.origin != FieldOrigin::Id);
    let fields: Item = stored.filter_map(value).collect();
    let key = EntityKey { entity: id, tenant, id: format!("{}-{number}", entity.name) };
    Image { key, version: "1".to_owned(), ordinal: None, fields }
}

/// The tenant of all samples; none for shared entities.
fn tenant(model: &Model, entity: &Entity) -> Option<Value> {
    match entity.tenancy {
        Tenancy::Shared => None,
        Tenancy::Inherited(ancestor) => tenant(model, model.entity(ancestor)),
        Tenancy::Own(field) => Some(match &entity.field(field).of {
            FieldType::Ref(target, _) => Value::from(format!("{}-1", model.entity(*target).name)),
            FieldType::Int(_) => Value::from(1),
            FieldType::Enum(words) => {
                Value::from(words.first().map(String::as_str).unwrap_or_default())
            }
            _ => Value::from("acme"),
        }),
    }
}

fn value(model: &Model, (id, field): (EntityId, &Field), number: i64) -> Option<Value> {
    Some(match &field.of {
        FieldType::Text(_) => Value::from(format!("{} {number}", field.name)),
        FieldType::Int(_) | FieldType::Number(_) => Value::from(number),
        FieldType::Bool => Value::from(false),
        FieldType::Time => Value::from(MOMENT_MS + number * DAY_MS),
        FieldType::Enum(words) => Value::from(words.first()?.as_str()),
        // The first entity has none of its own kind to refer to.
        FieldType::Ref(target, _) if *target == id && number == 1 => return None,
        FieldType::Ref(target, _) => Value::from(format!("{}-1", model.entity(*target).name)),
        FieldType::List(..) => Value::L(vec![]),
        FieldType::Tags => Value::M(Item::from([("priority", Value::from("high"))])),
        FieldType::Map(..) | FieldType::Any => Value::M(Item::new()),
        FieldType::Bytes(_) => Value::from("…"),
    })
}
