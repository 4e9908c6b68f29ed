//! Random entities and documents survive JSON, and values of a type with every kind of field
//! survive being stored.

use std::collections::BTreeMap;

use keyloom::{from_item, item_to_json, json_to_item, to_item};
use keyloom_model::{Entity, check};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::random_entity::{document, entity};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn admitted_documents_survive_json(
        (entity, document) in entity().prop_flat_map(|entity| {
            let document = document(&entity, 95);
            document.prop_map(move |document| (entity.clone(), document))
        })
    ) {
        let Ok(fields) = entity.admit(&document, 7) else { return Ok(()) };
        let shown = entity.to_external(&fields);
        let json = item_to_json(&shown);
        let read = json_to_item(json.as_bytes()).expect("it is JSON");
        prop_assert_eq!(&read, &shown);
        prop_assert_eq!(entity.admit(&read, 8), Ok(fields.clone()));
        // serde_json reads the fields as it reads the text, if it can represent them.
        if let Ok(value) = from_item::<serde_json::Value>(&fields, &entity) {
            let mut theirs: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
            // Absent fields that have a default are shown as null.
            let members = theirs.as_object_mut().expect("it is an object");
            members.retain(|name, _| fields.contains(name));
            prop_assert_eq!(value, theirs);
        }
    }
}

/// Bytes that deserialize as bytes, like those of `serde_bytes`.
#[derive(Clone, Debug, PartialEq)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_byte_buf(Visitor)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Nothing,
    Circle(f32),
    Line(i8, u128),
    Box { width: Option<u16>, color: Color },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    text: String,
    letter: char,
    int: i64,
    number: f64,
    small: f32,
    large: i128,
    truth: bool,
    time: i64,
    day: Option<String>,
    bytes: Bytes,
    encoded: Option<String>,
    listed: Option<Vec<u8>>,
    shape: Shape,
    color: Option<Color>,
    friend: Option<String>,
    list: Vec<Option<Shape>>,
    numbers: Vec<f64>,
    map: BTreeMap<String, Vec<i64>>,
    by_number: BTreeMap<u8, Bytes>,
    tags: BTreeMap<String, String>,
    unit: (),
}

fn everything() -> Entity {
    let model = check(
        r#"
        [entity.thing]
        fields.text = "text"
        fields.letter = "text 1..1"
        fields.int = "int"
        fields.number = "number"
        fields.small = "number"
        fields.large = "number"
        fields.truth = "bool"
        fields.time = "time"
        fields.day = "time?"
        fields.bytes = "bytes"
        fields.encoded = "bytes?"
        fields.listed = "bytes?"
        fields.shape = "any"
        fields.color = "enum(red, green)? = red"
        fields.friend = "ref thing clear?"
        fields.list = "list"
        fields.numbers = "list of number"
        fields.map = "map of list of int"
        fields.by_number = "map of bytes"
        fields.tags = "tags"
        fields.unit = "any?"
        "#,
    );
    let model = model.expect("the model is valid");
    model.entity(model.find("thing").expect("it was declared")).clone()
}

fn shape() -> impl Strategy<Value = Shape> {
    let color = prop::sample::select(vec![Color::Red, Color::Green]);
    prop_oneof![
        Just(Shape::Nothing),
        any::<f32>().prop_filter("no number", |it| it.is_finite()).prop_map(Shape::Circle),
        (any::<i8>(), 0..10_u128.pow(38)).prop_map(|(from, to)| Shape::Line(from, to)),
        (any::<Option<u16>>(), color).prop_map(|(width, color)| Shape::Box { width, color }),
    ]
}

/// A float that can be stored.
fn float() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("no number that can be stored", |float| {
        *float == 0.0 || (1e-130..1e125).contains(&float.abs())
    })
}

fn values() -> impl Strategy<Value = Everything> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..9).prop_map(Bytes);
    let scalars = (
        ("\\PC{0,9}", any::<char>(), any::<i64>(), float()),
        (
            any::<f32>().prop_filter("", |it| it.is_finite()),
            -(10_i128.pow(38)) + 1..10_i128.pow(38),
        ),
        (any::<bool>(), -62_167_219_200_000..=253_402_300_799_999_i64),
    );
    let optional = (
        prop::option::of(Just("2024-02-29T12:00:00.120Z".to_owned())),
        prop::option::of(Just("/+8=".to_owned())),
        prop::option::of(prop::sample::select(vec![Color::Red, Color::Green])),
        prop::option::of("[a-z]{1,9}"),
    );
    let nested = (
        shape(),
        prop::collection::vec(prop::option::of(shape()), 0..4),
        prop::collection::vec(float(), 0..4),
        prop::collection::btree_map("[a-z]{1,3}", prop::collection::vec(any::<i64>(), 0..3), 0..3),
        prop::collection::btree_map(any::<u8>(), bytes(), 0..3),
        prop::collection::btree_map("[a-z]{1,3}", "[a-z]{0,3}", 0..3),
    );
    (scalars, optional, nested, bytes()).prop_map(|(scalars, optional, nested, bytes)| {
        let ((text, letter, int, number), (small, large), (truth, time)) = scalars;
        let (day, encoded, color, friend) = optional;
        let (shape, list, numbers, map, by_number, tags) = nested;
        Everything {
            text,
            letter,
            int,
            number,
            small,
            large,
            truth,
            time,
            day,
            bytes,
            encoded,
            // A plain vector is written as a list, which is not valid for bytes; reading it is
            // tested below.
            listed: None,
            shape,
            color,
            friend,
            list,
            numbers,
            map,
            by_number,
            tags,
            unit: (),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_type_with_every_kind_of_field_survives_being_stored(value in values()) {
        let entity = everything();
        let item = to_item(&value).expect("it can be said");
        let mut fields = match entity.admit(&item, 0) {
            Ok(fields) => fields,
            Err(errors) => panic!("{}", errors[0]),
        };
        prop_assert_eq!(fields.contains("color"), value.color.is_some());
        // The unit type is null and therefore absent, but serde requires it to be present.
        fields.insert("unit", keyloom_value::Value::Null);
        prop_assert_eq!(&from_item::<Everything>(&fields, &entity).expect("it fits"), &value);
        // Bytes are also a list if that is requested.
        let bytes = fields.get("bytes").expect("there are bytes").clone();
        fields.insert("listed", bytes);
        let read: Everything = from_item(&fields, &entity).expect("it fits");
        prop_assert_eq!(read.listed, Some(value.bytes.0));
    }
}
