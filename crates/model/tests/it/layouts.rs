//! What the models of the apps compile to: for one entity of each kind, every row that it implies,
//! with the values that its keys are made of. `tests/layouts/APP.txt` has the text;
//! `KEYLOOM_BLESS=1` rewrites it; review the diff.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{
    Entity, EntityId, EntityKey, FieldOrigin, FieldType, Image, Layout, Reason, Tenancy, check,
};
use keyloom_value::{Item, KeyBytes, Value};

#[test]
fn the_models_of_the_apps_compile_to_the_recorded_layouts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for app in ["tasks", "comments", "kitchen", "oncall"] {
        let model = root.join(format!("../../apps/{app}/model.toml"));
        let model = check(&fs::read_to_string(model).expect("there is a model")).expect("is right");
        let text = describe(&Layout::new(model, 1, &Item::new()));
        let expected = root.join(format!("tests/layouts/{app}.txt"));
        if std::env::var_os("KEYLOOM_BLESS").is_some() {
            fs::write(&expected, &text).expect("the text can be written");
        }
        assert_eq!(text, fs::read_to_string(&expected).unwrap_or_default(), "{app}");
    }
}

fn describe(layout: &Layout) -> String {
    let mut text = String::new();
    for (id, entity) in layout.model().entities() {
        let rows = layout.rows(&sample(layout, id, entity)).expect("it fits");
        let postings = layout.postings().of(&sample(layout, id, entity)).expect("it fits");
        let most = layout.rows_max(id);
        writeln!(text, "{} ({} rows; at most {most} in a change)", entity.name, rows.len())
            .unwrap();
        for row in rows {
            let why = match row.reason {
                Reason::Own => "own row".to_owned(),
                Reason::Guard(unique) => format!("guard of {}", layout.uniques().name(id, unique)),
                Reason::Link(field) => format!("link of {}", entity.field(field).name),
                Reason::Presence => "presence".to_owned(),
                Reason::Posting => "entry".to_owned(),
            };
            writeln!(text, "  {why}: {}", key(&row.item, PARTITION, SORT)).unwrap();
            if row.reason == Reason::Own {
                for (list, declared) in entity.lists() {
                    let slot = layout.lists().slot(id, list);
                    let index_key = key(&row.item, slot.partition().as_str(), slot.sort().as_str());
                    writeln!(text, "    list {} in {}: {index_key}", declared.name, slot.name())
                        .unwrap();
                    if let Some(slot) = layout.facets().slot(id, list) {
                        let index_key =
                            key(&row.item, slot.partition().as_str(), slot.sort().as_str());
                        let name = &declared.name;
                        writeln!(text, "    facets of {name} in {}: {index_key}", slot.name())
                            .unwrap();
                    }
                }
                if let Some(slot) = layout.ordinals().slot(id) {
                    let index_key = key(&row.item, slot.partition().as_str(), slot.sort().as_str());
                    writeln!(text, "    ordinals in {}: {index_key}", slot.name()).unwrap();
                }
            }
        }
        for posting in postings {
            let parts = KeyBytes::decode(posting.as_bytes()).expect("a name is made of values");
            let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
            writeln!(text, "  posting list {}", parts.join(", ")).unwrap();
        }
    }
    text
}

/// An entity in which every field has a value that says which it is.
fn sample(layout: &Layout, id: EntityId, entity: &Entity) -> Image {
    let value = |name: &str, of: &FieldType| match of {
        FieldType::Int(_) | FieldType::Number(_) | FieldType::Time => Value::from(1),
        FieldType::Bool => Value::from(false),
        FieldType::Enum(members) => Value::from(members[0].as_str()),
        FieldType::Tags => {
            let tag = |key: &String| {
                (keyloom_value::Name::from(key.as_str()), Value::from(format!("<{key}>")))
            };
            Value::M(
                entity
                    .combinations
                    .iter()
                    .flat_map(|combination| &combination.keys)
                    .map(tag)
                    .collect(),
            )
        }
        FieldType::Map(..) => Value::M(Item::new()),
        FieldType::List(..) => Value::L(vec![]),
        _ => Value::from(format!("<{name}>")),
    };
    let fields = entity.fields.iter().filter(|field| field.origin != FieldOrigin::Id);
    let fields = fields.map(|field| (field.name.as_str().into(), value(&field.name, &field.of)));
    let tenant = match entity.tenancy {
        Tenancy::Shared => None,
        Tenancy::Own(field) => Some(Value::from(format!("<{}>", entity.field(field).name))),
        Tenancy::Inherited(from) => {
            let from = layout.model().entity(from);
            Some(Value::from(format!("<tenant of {}>", from.name)))
        }
    };
    let key = EntityKey { entity: id, tenant, id: "<id>".to_owned() };
    let ordinal = entity.has_ordinals().then_some(7);
    Image { key, version: "<version>".to_owned(), ordinal, fields: fields.collect() }
}

fn key(row: &Item, partition: &str, sort: &str) -> String {
    let part = |name: &str| match row.get(name).and_then(Value::as_b).map(KeyBytes::decode) {
        Some(Ok(parts)) => parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        // Parts in descending order do not decode.
        Some(Err(_)) => "descending".to_owned(),
        None => "not in it".to_owned(),
    };
    format!("{} / {}", part(partition), part(sort))
}
