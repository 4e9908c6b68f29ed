//! Random entities, and documents that fit them or nearly do.

use keyloom_model::{Entity, FieldOrigin, FieldType, Limits, Presence, check};
use keyloom_value::{Item, Number, Value};
use proptest::prelude::*;

/// The text of a field; the references are to `other`.
fn spec() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "text",
        "int",
        "number",
        "bool",
        "time",
        "bytes",
        "any",
        "enum(red, green)",
    ]);
    let nested = (prop::sample::select(vec!["", "list of ", "map of ", "list of map of "]), scalar)
        .prop_map(|(around, of)| format!("{around}{of}"));
    let of =
        prop_oneof![4 => nested, 1 => Just("ref other".to_owned()), 1 => Just("tags".to_owned())];
    (of, any::<bool>(), 0..4_u32).prop_map(|(of, is_optional, extra)| {
        let mark = if is_optional { "?" } else { "" };
        let rest = match (of.as_str(), extra) {
            ("text", 0) => " 1..4 = abc",
            ("int", 0) => " -5..5 = 0",
            ("number", 0) => " 0..9.5 = 0.5",
            ("bool", 0) => " = true",
            ("time", 0) => " = now",
            ("time", 1) => " = 2024-02-29T12:00:00Z",
            ("enum(red, green)", 0) => " = red",
            ("tags", 0) => " = {}",
            ("bytes", 1) => " ..3",
            (of, 0) if of.starts_with("list") => " ..2 = []",
            (of, 0) if of.starts_with("map") => " ..2 = {}",
            _ => "",
        };
        format!("{of}{mark}{rest}")
    })
}

pub(crate) fn entity() -> impl Strategy<Value = Entity> {
    (prop::collection::vec(spec(), 0..8), any::<bool>()).prop_map(|(specs, is_child)| {
        let parent = if is_child { "parent = \"other\"\n" } else { "" };
        let fields: String =
            (0..).zip(specs).map(|(n, spec)| format!("fields.f{n} = \"{spec}\"\n")).collect();
        let source = format!("[entity.other]\n[entity.it]\n{parent}{fields}");
        let model = check(&source).unwrap_or_else(|errors| panic!("{source}{}", errors[0]));
        model.entity(model.find("it").expect("it was declared")).clone()
    })
}

/// Any JSON value, and sometimes one that JSON cannot represent.
pub(crate) fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => "\\PC{0,6}".prop_map(Value::S),
        4 => number().prop_map(Value::N),
        2 => any::<bool>().prop_map(Value::Bool),
        2 => Just(Value::Null),
        1 => Just(Value::B(vec![1, 2])),
        1 => Just(Value::Ss(["a".to_owned()].into())),
        1 => Just(Value::from("2024-02-29T12:00:00Z")),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::L),
            prop::collection::vec(("[a-d]{0,1}", inner), 0..4).prop_map(|members| {
                Value::M(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
            }),
        ]
    })
}

fn number() -> impl Strategy<Value = Number> {
    let wide = (any::<i64>(), -120..100_i16).prop_map(|(coefficient, exponent)| {
        Number::from_parts(i128::from(coefficient), exponent).expect("it is in range")
    });
    prop_oneof![(-6..7_i64).prop_map(Number::from), any::<i64>().prop_map(Number::from), wide]
}

/// A document for an entity: `nearness` of 100 values fit, the others are anything or left out.
pub(crate) fn document(entity: &Entity, nearness: u32) -> BoxedStrategy<Item> {
    let fields = entity.fields.iter().filter(|field| field.origin != FieldOrigin::Id);
    let values: Vec<BoxedStrategy<Option<(String, Value)>>> = fields
        .map(|field| {
            let name = field.name.clone();
            let is_needed = field.presence == Presence::Required && field.default.is_none();
            let fitting = fitting(&field.of).prop_map(Some);
            let fitting = match is_needed {
                true => fitting.boxed(),
                false => prop_oneof![3 => fitting, 1 => Just(None)].boxed(),
            };
            let other = prop_oneof![anything().prop_map(Some), Just(None)];
            prop_oneof![nearness => fitting, 100 - nearness => other]
                .prop_map(move |value| value.map(|value| (name.clone(), value)))
                .boxed()
        })
        .collect();
    values
        .prop_map(|values| {
            values.into_iter().flatten().map(|(name, value)| (name.into(), value)).collect()
        })
        .boxed()
}

/// A value of the type, in any form that a document may have.
fn fitting(of: &FieldType) -> BoxedStrategy<Value> {
    match of {
        FieldType::Text(_) => "[a-zé]{1,4}".prop_map(Value::S).boxed(),
        FieldType::Int(limits) if *limits == Limits::NONE => {
            any::<i64>().prop_map(Value::from).boxed()
        }
        FieldType::Int(_) => (-5..=5_i64).prop_map(Value::from).boxed(),
        FieldType::Number(limits) if *limits == Limits::NONE => number().prop_map(Value::N).boxed(),
        FieldType::Number(_) => (0..=9_i64).prop_map(Value::from).boxed(),
        FieldType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        FieldType::Time => prop_oneof![
            (-62_167_219_200_000..=253_402_300_799_999_i64).prop_map(Value::from),
            "[0-9]{4}-0[1-9]-[12][0-9]T1[0-9]:0[0-9]:5[0-9](\\.[0-9]{1,5})?(Z|[+-]0[0-9]:30)"
                .prop_map(Value::S),
        ]
        .boxed(),
        FieldType::Bytes(_) => prop_oneof![
            prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::B),
            "[A-Za-z0-9_+/-]{4}".prop_map(Value::S),
        ]
        .boxed(),
        FieldType::Any => anything_in_json().boxed(),
        FieldType::Tags => prop::collection::vec(("[a-c]", "[a-z]{0,3}"), 0..3)
            .prop_map(|tags| {
                Value::M(tags.into_iter().map(|(key, tag)| (key.into(), Value::S(tag))).collect())
            })
            .boxed(),
        FieldType::Enum(members) => {
            prop::sample::select(members.clone()).prop_map(Value::S).boxed()
        }
        FieldType::Ref(..) => "[a-z./#é]{1,4}"
            .prop_map(|id| Value::S(if id.starts_with('.') { "id".to_owned() } else { id }))
            .boxed(),
        FieldType::List(of, _) => {
            prop::collection::vec(fitting(of), 0..3).prop_map(Value::L).boxed()
        }
        FieldType::Map(of, _) => prop::collection::vec(("[a-c]", fitting(of)), 0..3)
            .prop_map(|members| {
                Value::M(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
            })
            .boxed(),
    }
}

fn anything_in_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        "\\PC{0,6}".prop_map(Value::S),
        number().prop_map(Value::N),
        any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let inner = prop_oneof![5 => inner, 1 => Just(Value::Null)];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::L),
            prop::collection::vec(("[a-d]", inner), 0..3).prop_map(|members| {
                Value::M(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
            }),
        ]
    })
}
