//! User types: how they are stored and read, and which field an error names.

use std::collections::{BTreeMap, HashMap};

use keyloom::{from_item, to_item};
use keyloom_model::{Entity, check};
use keyloom_value::{Item, Value};
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

fn entity() -> Entity {
    let model = check(
        r#"
        [entity.task]
        fields.title  = "text"
        fields.rank   = "int?"
        fields.price  = "number?"
        fields.due    = "time? = now"
        fields.photo  = "bytes?"
        fields.body   = "any?"
        fields.times  = "list of time?"
        fields.status = "enum(open, done) = open"
        "#,
    );
    let model = model.expect("the model is valid");
    model.entity(model.find("task").expect("it was declared")).clone()
}

fn number(text: &str) -> Value {
    Value::N(text.parse().expect("a number"))
}

/// The result of serializing a value, or the error.
fn written<T: Serialize>(value: &T) -> String {
    to_item(value).map_or_else(|error| error.to_string(), |item| item.to_string())
}

/// The result of deserializing a field, or the error.
fn read<T: DeserializeOwned + std::fmt::Debug>(name: &str, value: Value) -> String {
    let fields = Item::from([(name, value)]);
    match from_item::<HashMap<String, T>>(&fields, &entity()) {
        Ok(mut map) => format!("{:?}", map.remove(name).expect("it exists")),
        Err(error) => error.to_string(),
    }
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Patch {
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rank: Option<u8>,
}

#[test]
fn none_is_null_and_skipped_fields_are_absent() {
    let patch = Patch { title: None, rank: None };
    assert_eq!(written(&patch), "{title: null}");
    let fields = Item::from([("title", Value::from("T"))]);
    let fields = entity().admit(&fields, 5).expect("it is valid");
    assert_eq!(fields.get("due"), Some(&number("5")));
    #[derive(Serialize)]
    struct Task {
        title: &'static str,
        due: Option<i64>,
        rank: Option<i64>,
    }
    let task = to_item(&Task { title: "T", due: None, rank: None }).expect("it can be said");
    let created = entity().admit(&task, 5).expect("it is valid");
    assert_eq!(created.to_string(), "{status: \"open\", title: \"T\"}");
    let patched = entity().admit_patch(&fields, &task).expect("it is valid");
    assert_eq!(patched.to_string(), "{status: \"open\", title: \"T\"}");
    let left: Patch = from_item(&patched, &entity()).expect("it fits");
    assert_eq!(left, Patch { title: Some("T".to_owned()), rank: None });
}

fn in_map<T>(value: T) -> BTreeMap<&'static str, T> {
    BTreeMap::from([("a", value)])
}

#[test]
fn numbers_are_written_exactly() {
    assert_eq!(written(&in_map(u64::MAX)), "{a: 18446744073709551615}");
    assert_eq!(written(&in_map(i64::MIN)), "{a: -9223372036854775808}");
    let digits = 12345678901234567890123456789012345678_i128;
    assert_eq!(written(&in_map(-digits)), "{a: -12345678901234567890123456789012345678}");
    assert_eq!(written(&in_map(3 * 10_u128.pow(38))), format!("{{a: 3{}}}", "0".repeat(38)));
    assert_eq!(written(&in_map(0.1_f32)), "{a: 0.1}");
    assert_eq!(written(&in_map(0.1_f64 + 0.2)), "{a: 0.30000000000000004}");
    assert_eq!(written(&in_map(-0.0_f64)), "{a: 0}");
}

/// An infinitely nested list.
struct Endless;

impl Serialize for Endless {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq([Endless])
    }
}

#[derive(Serialize)]
struct Twice {
    name: u8,
    #[serde(flatten)]
    more: BTreeMap<&'static str, u8>,
}

#[test]
fn values_that_cannot_be_stored_are_errors_that_name_the_field() {
    let infinite = "infinity and NaN are not supported; omit them";
    assert_eq!(written(&in_map(f64::NAN)), format!("`a`: {infinite}"));
    assert_eq!(written(&in_map([[1.0, f32::INFINITY]])), format!("`a[0][1]`: {infinite}"));
    let digits = "the number has more than 38 significant digits; round it to 38 or fewer";
    assert_eq!(written(&in_map(u128::MAX)), format!("`a`: {digits}"));
    assert_eq!(written(&in_map(i128::MIN)), format!("`a`: {digits}"));
    assert!(written(&in_map(f64::MAX)).starts_with("`a`: the number is too large"));
    assert!(written(&in_map(f64::MIN_POSITIVE)).starts_with("`a`: the number is too close to"));
    let no_text = "a key of a map is not a text; convert it to one";
    assert_eq!(written(&in_map(BTreeMap::from([((1, 2), 3)]))), format!("`a`: {no_text}"));
    assert_eq!(written(&BTreeMap::from([(None::<u8>, 3)])), no_text);
    let no_object = "expected an object";
    assert_eq!(written(&1), no_object);
    assert_eq!(written(&None::<Patch>), no_object);
    assert!(written(&in_map(Endless)).ends_with("more than 32 deep; make it flatter"));
    let twice = Twice { name: 1, more: BTreeMap::from([("name", 2)]) };
    assert_eq!(written(&twice), "duplicate name `name`; remove one of them");
}

#[test]
fn map_keys_with_a_text_form_round_trip() {
    #[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug, Clone, Copy)]
    enum Day {
        Monday,
    }
    #[derive(Serialize, Deserialize, PartialEq, Debug, Default)]
    struct Maps {
        by_number: BTreeMap<i16, u8>,
        by_truth: BTreeMap<bool, u8>,
        by_letter: BTreeMap<char, u8>,
        by_day: BTreeMap<Option<Day>, u8>,
    }
    let body = Maps {
        by_number: BTreeMap::from([(-7, 1)]),
        by_truth: BTreeMap::from([(true, 1)]),
        by_letter: BTreeMap::from([('é', 1)]),
        by_day: BTreeMap::from([(Some(Day::Monday), 1)]),
    };
    let fields = Item::from([("body", to_item(&body).expect("it can be said"))]);
    let expected = "{body: {by_day: {Monday: 1}, by_letter: {`é`: 1}, by_number: {`-7`: 1}, \
                    by_truth: {`true`: 1}}}";
    assert_eq!(fields.to_string(), expected);
    let read: HashMap<String, Maps> = from_item(&fields, &entity()).expect("it fits");
    assert_eq!(read["body"], body);
    let wrong = Item::from([("by_number", Value::M(Item::from([("x", number("1"))])))]);
    let error = read_error::<Maps>("body", Value::M(wrong));
    assert!(error.starts_with("`body.by_number`: invalid type: string \"x\""), "{error}");
}

fn read_error<T: DeserializeOwned>(name: &str, value: Value) -> String {
    let fields = Item::from([(name, value)]);
    let outcome = from_item::<HashMap<String, T>>(&fields, &entity());
    outcome.err().expect("it does not fit").to_string()
}

/// How serde_json serializes numbers and raw values with features that are not enabled here.
struct Hidden(&'static str, &'static str);

impl Serialize for Hidden {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut hidden = serializer.serialize_struct(self.0, 1)?;
        hidden.serialize_field(self.0, self.1)?;
        hidden.end()
    }
}

#[test]
fn numbers_and_raw_values_of_serde_json_are_recognized() {
    let digits = Hidden("$serde_json::private::Number", "1.2345678901234567890123456789");
    assert_eq!(written(&in_map(digits)), "{a: 1.2345678901234567890123456789}");
    let raw = || Hidden("$serde_json::private::RawValue", "{\"b\": [1.50, null]}");
    assert_eq!(written(&in_map(raw())), "{a: {b: [1.5, null]}}");
    assert_eq!(written(&raw()), "{b: [1.5, null]}");
    let wrong = Hidden("$serde_json::private::RawValue", "[1,]");
    assert_eq!(written(&in_map(wrong)), "line 1, column 4: `a[1]`: expected a value, found `]`");
    let value = serde_json::json!({"a": [1, 2.5, "x", null, {"b": true}]});
    assert_eq!(written(&value), "{a: [1, 2.5, \"x\", null, {b: true}]}");
}

#[test]
fn values_convert_to_the_requested_type() {
    let moment = || number("951822000050");
    assert_eq!(read::<i64>("due", moment()), "951822000050");
    assert_eq!(read::<u128>("due", moment()), "951822000050");
    assert_eq!(read::<String>("due", moment()), "\"2000-02-29T11:00:00.050Z\"");
    let any = "String(\"2000-02-29T11:00:00.050Z\")";
    assert_eq!(read::<serde_json::Value>("due", moment()), any);
    assert_eq!(read::<Option<Vec<u64>>>("times", Value::L(vec![moment()])), "Some([951822000050])");
    let photo = || Value::B(vec![0xFF, 0xEF]);
    assert_eq!(read::<Vec<u8>>("photo", photo()), "[255, 239]");
    assert_eq!(read::<(u8, u8)>("photo", photo()), "(255, 239)");
    assert_eq!(read::<String>("photo", photo()), "\"/+8=\"");
    assert_eq!(read::<f64>("price", number("0.1")), "0.1");
    assert_eq!(read::<f32>("price", number("0.1")), "0.1");
    assert_eq!(read::<u8>("price", number("2.0")), "2");
    assert_eq!(read::<f64>("rank", number("2")), "2.0");
    let digits = "12345678901234567890123456789012345678";
    assert_eq!(read::<String>("price", number(digits)), format!("\"{digits}\""));
    assert_eq!(read::<i128>("price", number(digits)), digits);
    assert_eq!(read::<serde_json::Value>("id", Value::from("t1")), "String(\"t1\")");
    assert_eq!(read::<String>("version", Value::from("7")), "\"7\"");
}

#[test]
fn values_that_do_not_fit_are_errors_that_name_the_field() {
    let cases = [
        (read::<u8>("rank", number("300")), "`rank`: invalid value: integer `300`, expected u8"),
        (read::<u64>("due", number("-1")), "`due`: invalid value: integer `-1`, expected u64"),
        (
            read::<String>("rank", number("3")),
            "`rank`: invalid type: integer `3`, expected a string",
        ),
        (
            read::<i64>("price", number("1.5")),
            "`price`: 1.5 does not fit into an integer type; use a type that can represent it",
        ),
        (
            read::<f64>("price", number("0.12345678901234567890")),
            "`price`: 0.1234567890123456789 does not fit into f64; use a type that can represent it",
        ),
        (
            read::<f32>("price", number("0.123456789")),
            "`price`: 0.123456789 does not fit into f32; use a type that can represent it",
        ),
        (
            read::<Vec<u8>>("body", Value::L(vec![number("1"), Value::from("x")])),
            "`body[1]`: invalid type: string \"x\", expected u8",
        ),
        (
            read::<BTreeMap<String, Vec<bool>>>(
                "body",
                Value::M(Item::from([("a b", Value::L(vec![number("1")]))])),
            ),
            "body.`a b`[0]: invalid type: integer `1`, expected a boolean",
        ),
    ];
    for (told, expected) in cases {
        assert_eq!(told, expected);
    }
    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    struct Task {
        title: String,
    }
    let error = from_item::<Task>(&Item::new(), &entity()).expect_err("there is no title");
    assert_eq!(error.to_string(), "missing field `title`");
    assert_eq!((error.path(), error.line_and_column()), (None, None));
}

#[test]
fn newtypes_flattened_parts_and_tagged_enums_are_read() {
    #[derive(Deserialize, Debug, PartialEq)]
    struct Title(String);
    #[derive(Deserialize, Debug, PartialEq)]
    struct When {
        due: String,
    }
    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(tag = "kind")]
    enum Body {
        Note { text: String },
    }
    #[derive(Deserialize, Debug, PartialEq)]
    struct Task {
        id: String,
        title: Title,
        body: Body,
        #[serde(flatten)]
        when: When,
    }
    #[derive(Deserialize, Debug, PartialEq)]
    struct Around(Option<Task>);
    let note = Item::from([("kind", "Note"), ("text", "x")]);
    let fields = Item::from([
        ("id", Value::from("t1")),
        ("title", Value::from("T")),
        ("body", Value::M(note)),
        // Where serde buffers, no integer is requested, so it is the text.
        ("due", number("0")),
        ("ignored", number("1e100")),
    ]);
    let Around(task) = from_item(&fields, &entity()).expect("it fits");
    let expected = Task {
        id: "t1".to_owned(),
        title: Title("T".to_owned()),
        body: Body::Note { text: "x".to_owned() },
        when: When { due: "1970-01-01T00:00:00Z".to_owned() },
    };
    assert_eq!(task, Some(expected));
}

#[test]
fn variants_that_do_not_fit_are_errors() {
    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    enum Shape {
        Nothing,
        Circle(u8),
        Box { width: u8 },
    }
    let tagged = |variant: &str, content: Value| Value::M(Item::from([(variant, content)]));
    let cases = [
        (Value::from("Nothing"), "Nothing"),
        (tagged("Nothing", Value::Null), "Nothing"),
        (tagged("Nothing", number("1")), "`body`: the variant `Nothing` has content here"),
        (Value::from("Circle"), "`body`: the variant `Circle` has no content here"),
        (tagged("Circle", number("1")), "Circle(1)"),
        (tagged("Circle", number("-1")), "`body.Circle`: invalid value: integer `-1`, expected u8"),
        (tagged("Box", tagged("width", number("1"))), "Box { width: 1 }"),
        (
            tagged("Box", tagged("width", Value::Null)),
            "`body.Box.width`: invalid type: unit value, expected u8",
        ),
        (number("1"), "`body`: invalid type: integer `1`, expected enum Shape"),
    ];
    for (value, expected) in cases {
        assert_eq!(read::<Shape>("body", value), expected);
    }
}
