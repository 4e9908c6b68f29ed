//! Some rows to look at: two entities of each kind, which refer to the first of every other, and
//! everything that they imply. The rows are those that the layout says; only the values are made up.

use keyloom::{Item, Value};
use keyloom_model::{
    Entity, EntityId, EntityKey, Field, FieldOrigin, FieldType, Image, KeyPart, KeyTemplate,
    Layout, Model, Reason, Row, Tenancy,
};

/// Noon of the first day of 2026.
const MOMENT_MS: i64 = 1_767_268_800_000;
const DAY_MS: i64 = 86_400_000;

/// A row of the table, or of an index.
pub(super) struct SampleRow {
    /// Of which kind of entity.
    pub(super) entity: usize,
    /// Why it is there.
    pub(super) why: String,
    pub(super) partition: SampleKey,
    pub(super) sort: SampleKey,
    /// What else is in it: names and values.
    pub(super) attributes: Vec<(String, String)>,
}

/// A key of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SampleKey {
    /// The names of what it is made of.
    pub(super) names: String,
    /// The values.
    pub(super) values: String,
}

/// A secondary index with some rows.
pub(super) struct SampleIndex {
    pub(super) name: String,
    /// The attributes that are its keys.
    pub(super) keys: (String, String),
    pub(super) rows: Vec<SampleRow>,
}

/// The rows of the table, in its order.
pub(super) fn table(layout: &Layout) -> Vec<SampleRow> {
    let mut rows = vec![];
    for image in images(layout) {
        let templates = layout.templates().rows(image.key.entity);
        // The sample's keys are short.
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

/// The indexes, each in its order.
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
            let place = (own.item.get(&keys.0).cloned(), own.item.get(&keys.1).cloned());
            let (Some(Value::B(partition)), Some(Value::B(sort))) = place else { continue };
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
        Reason::Posting => (format!("{}: member", entity.name), vec![owner]),
    };
    drawn(layout, image, (why, template, attributes))
}

fn index_row(layout: &Layout, image: &Image, (list, template): (&str, &KeyTemplate)) -> SampleRow {
    let entity = layout.model().entity(image.key.entity);
    let attributes = vec![("PK".to_owned(), own_key(layout, image).values)];
    drawn(layout, image, (format!("{}.{list}", entity.name), template, attributes))
}

fn drawn(
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
                    FieldOrigin::Parent | FieldOrigin::Declared => shown(field, image),
                });
            }
            _ => {}
        }
    }
    SampleKey { names: names.join(" · "), values: values.join("·") }
}

fn fields(entity: &Entity, image: &Image) -> Vec<(String, String)> {
    let there = entity.fields.iter().filter(|field| image.fields.contains(&field.name));
    there.map(|field| (field.name.clone(), shown(field, image))).collect()
}

/// A value as people read it.
fn shown(field: &Field, image: &Image) -> String {
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

/// Everything belongs to one tenant.
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
        // The first one has nobody of its own kind before it.
        FieldType::Ref(target, _) if *target == id && number == 1 => return None,
        FieldType::Ref(target, _) => Value::from(format!("{}-1", model.entity(*target).name)),
        FieldType::List(..) => Value::L(vec![]),
        FieldType::Tags => Value::M(Item::from([("priority", Value::from("high"))])),
        FieldType::Map(..) | FieldType::Any => Value::M(Item::new()),
        FieldType::Bytes(_) => Value::from("…"),
    })
}
