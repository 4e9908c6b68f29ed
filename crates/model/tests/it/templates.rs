//! Key templates describe keys exactly: filled with the values of random entities of random models,
//! they give the keys of their rows, byte by byte.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{
    CaseMode, Direction, EntityId, EntityKey, FieldType, Image, KeyPart, KeyTemplate, Layout,
    Model, Tenancy,
};
use keyloom_testkit::Random;
use keyloom_testkit::model::{document, drafts};
use keyloom_value::{Item, KeyBytes, Value};
use proptest::prelude::*;

proptest! {
    #[test]
    fn templates_give_the_keys_of_rows(draft in drafts(), seed in any::<u64>()) {
        let model = draft.model();
        let layout = Layout::new(model, 1, &Item::new());
        let mut random = Random::new(seed);
        for (id, _) in layout.model().entities() {
            if let Some(image) = image((layout.model(), id), &mut random) {
                compare(&layout, &image);
            }
        }
    }
}

fn image((model, id): (&Model, EntityId), random: &mut Random) -> Option<Image> {
    let fields = document((model, id), &|_| vec!["some".to_owned()], random)?;
    let entity = model.entity(id);
    let tenant = match entity.tenancy {
        Tenancy::Shared => None,
        Tenancy::Own(field) => fields.get(&entity.field(field).name).cloned(),
        Tenancy::Inherited(_) => Some(Value::from("tenant")),
    };
    let key = EntityKey { entity: id, tenant, id: "own".to_owned() };
    Some(Image { key, version: "v".to_owned(), ordinal: None, fields })
}

fn compare(layout: &Layout, image: &Image) {
    let rows = layout.rows(image).expect("it fits");
    let templates = layout.templates().rows(image.key.entity);
    for row in &rows {
        let (_, template) = templates.iter().find(|(reason, _)| *reason == row.reason).unwrap();
        assert_eq!(Some(at(&row.item, PARTITION, SORT)), fill(layout, image, template));
    }
    let own = &rows[0].item;
    let entity = layout.model().entity(image.key.entity);
    let lists = entity.lists().map(|(list, _)| {
        let template = layout.templates().list(image.key.entity, list);
        (layout.lists().slot(image.key.entity, list), template)
    });
    let facets = entity.lists().filter_map(|(list, _)| {
        let slot = layout.facets().slot(image.key.entity, list)?;
        Some((slot, layout.templates().facet(image.key.entity, list)?))
    });
    let expiry = layout.expiry().slot(image.key.entity);
    for (slot, template) in
        lists.chain(facets).chain(expiry.zip(layout.templates().expiry(image.key.entity)))
    {
        if own.contains(slot.partition().as_str()) {
            let index_key = at(own, slot.partition().as_str(), slot.sort().as_str());
            assert_eq!(Some(index_key), fill(layout, image, &template));
        }
    }
}

fn at(row: &Item, partition: &str, sort: &str) -> (Vec<u8>, Vec<u8>) {
    let part = |name| row.get(name).and_then(Value::as_b).expect("it has a key").to_vec();
    (part(partition), part(sort))
}

fn fill(layout: &Layout, image: &Image, template: &KeyTemplate) -> Option<(Vec<u8>, Vec<u8>)> {
    let partition = key(layout, image, &template.partition, false)?;
    Some((partition.into_vec(), key(layout, image, &template.sort, true)?.into_vec()))
}

fn key(layout: &Layout, image: &Image, parts: &[KeyPart], is_order: bool) -> Option<KeyBytes> {
    let entity = layout.model().entity(image.key.entity);
    let mut key = KeyBytes::new();
    for part in parts {
        let (value, direction) = match part {
            KeyPart::Word(word) => (Value::from(word.as_str()), Direction::Ascending),
            KeyPart::Number(number) => (Value::from(*number), Direction::Ascending),
            KeyPart::Score | KeyPart::Window(_) => return None,
            KeyPart::Facet(field) => {
                let value = match image.fields.get(&entity.field(*field).name) {
                    None => Value::B(vec![]),
                    Some(Value::Bool(truth)) => Value::from(i32::from(*truth)),
                    Some(Value::S(text)) => Value::from(text.chars().take(48).collect::<String>()),
                    Some(value) => value.clone(),
                };
                (value, Direction::Ascending)
            }
            KeyPart::Tenant => (image.key.tenant.clone()?, Direction::Ascending),
            KeyPart::Field { field, direction, case } => {
                let field = entity.field(*field);
                let value = match field.name.as_str() {
                    "id" => Value::from(image.key.id.as_str()),
                    name => image.fields.get(name)?.clone(),
                };
                let value = match (&field.of, value) {
                    (FieldType::Bool, Value::Bool(truth)) => Value::from(i32::from(truth)),
                    (FieldType::Enum(words), Value::S(word)) if is_order => {
                        Value::from(words.iter().position(|other| *other == word)? as u64)
                    }
                    (_, Value::S(text)) if *case == CaseMode::Folded => {
                        Value::S(text.to_lowercase())
                    }
                    (_, value) => value,
                };
                (value, *direction)
            }
            _ => panic!("no such part"),
        };
        match direction {
            Direction::Ascending => key.push(&value).ok()?,
            Direction::Descending => key.push_descending(&value).ok()?,
        }
    }
    Some(key)
}
