//! Documents, patches and stored fields: what is admitted, its stored form, and the messages of
//! what is refused.

use keyloom_model::{Entity, FieldError, FieldErrorKind, LengthUnit, check, check_id};
use keyloom_value::{Item, Number, Value};

const MODEL: &str = r#"
[entity.author]

[entity.book]
parent = "author"
fields.title   = "text 1..10"
fields.rating  = "int 1..5 = 3"
fields.price   = "number? 0..99.99"
fields.open    = "bool = true"
fields.created = "time = now"
fields.until   = "time?"
fields.cover   = "bytes? 1..4"
fields.body    = "any?"
fields.labels  = "tags = {}"
fields.status  = "enum(active, done)? = active"
fields.editor  = "ref author clear?"
fields.lines   = "list of text? ..3"
fields.seen    = "map of time? ..2"
fields.grid    = "map of list of int?"
fields.extra   = "any"
"#;

const NOW_MS: i64 = 951_822_000_000;

fn book() -> Entity {
    let model = check(MODEL).expect("the model is right");
    model.entity(model.find("book").expect("there are books")).clone()
}

fn text(value: &str) -> Value {
    Value::from(value)
}

fn number(value: &str) -> Value {
    Value::N(value.parse().expect("a number"))
}

fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::M(Item::from(members))
}

/// The least that a book must have, and more.
fn document<const N: usize>(more: [(&str, Value); N]) -> Item {
    let least = [("author", text("a1")), ("title", text("T")), ("extra", text("x"))];
    let all = least.into_iter().chain(more);
    all.map(|(name, value)| (name.into(), value)).collect()
}

fn messages(errors: &[FieldError]) -> String {
    errors.iter().map(|error| format!("{error}\n")).collect()
}

/// The stored form of a field of a document, or its errors.
fn admitted(name: &str, value: Value) -> String {
    match book().admit(&document([(name, value)]), NOW_MS) {
        Ok(fields) => {
            assert_eq!(book().check_fields(&fields), Ok(()));
            fields.get(name).map_or("absent".to_owned(), ToString::to_string)
        }
        Err(errors) => messages(&errors).trim_end().to_owned(),
    }
}

#[test]
fn defaults_are_filled_in_and_optional_fields_stay_absent() {
    let fields = book().admit(&document([]), NOW_MS).expect("it is right");
    let expected = "{author: \"a1\", created: 951822000000, extra: \"x\", labels: {}, open: true, \
                    rating: 3, status: \"active\", title: \"T\"}";
    assert_eq!(fields.to_string(), expected);
}

#[test]
fn every_type_is_stored_in_one_form() {
    let deep = |depth: usize| (0..depth).fold(text("x"), |inner, _| Value::L(vec![inner]));
    let cases = [
        ("title", text("éééééééééé"), "\"éééééééééé\""),
        ("rating", number("5.0"), "5"),
        ("price", number("99.99"), "99.99"),
        ("price", number("1E-30"), "0.000000000000000000000000000001"),
        ("open", Value::Bool(false), "false"),
        ("until", text("2000-02-29T12:00:00.5+01:00"), "951822000500"),
        ("until", number("-1"), "-1"),
        ("cover", text("aGk="), "0x6869"),
        ("cover", text("_-8"), "0xffef"),
        ("cover", Value::B(vec![1]), "0x01"),
        ("body", map([("a", Value::L(vec![Value::Null]))]), "{a: [null]}"),
        ("labels", map([("k", text(""))]), "{k: \"\"}"),
        ("status", text("done"), "\"done\""),
        ("editor", text("a/b #c"), "\"a/b #c\""),
        ("lines", Value::L(vec![text(""), text("b")]), "[\"\", \"b\"]"),
        ("seen", map([("a", text("1970-01-01T00:00:01Z")), ("b", number("2"))]), "{a: 1000, b: 2}"),
        ("grid", map([("a", Value::L(vec![number("1")]))]), "{a: [1]}"),
    ];
    for (name, value, expected) in cases {
        assert_eq!(admitted(name, value), expected);
    }
    assert!(!admitted("body", deep(16)).contains("deep"));
}

#[test]
fn null_means_that_an_optional_field_is_absent() {
    for name in ["price", "until", "body", "lines", "status"] {
        assert_eq!(admitted(name, Value::Null), "absent");
    }
}

#[test]
fn errors_say_what_is_wrong_and_how_to_fix_it() {
    let cases = [
        ("titel", text("x"), "`book` has no field `titel`; did you mean `title`?"),
        ("x y", text("x"), "`book` has no field `x y`; leave it out, or add it to the model"),
        ("id", text("x"), "`id` is not a field; leave it out here"),
        ("version", text("x"), "`version` is not a field; leave it out here"),
        ("title", text(""), "`title` must have 1 to 10 characters, and this has 0"),
        ("title", text("ééééééééééé"), "`title` must have 1 to 10 characters, and this has 11"),
        (
            "title",
            Value::Null,
            "`title` is required and cannot be null; give a text of 1 to 10 characters",
        ),
        (
            "created",
            Value::Null,
            "`created` is required and cannot be null; leave it out, or give a time such as \
             `2024-02-29T12:00:00Z`",
        ),
        ("rating", text("4"), "`rating` must be a whole number from 1 to 5, and this is a text"),
        ("rating", number("4.5"), "`rating` must be a whole number, and this is 4.5"),
        ("rating", number("6"), "`rating` must be from 1 to 5, and this is 6"),
        ("price", number("-1"), "`price` must be from 0 to 99.99, and this is -1"),
        ("open", text("true"), "`open` must be `true` or `false`, and this is a text"),
        (
            "until",
            text("soon"),
            "`until` must be a time such as `2024-02-29T12:00:00Z`, or whole milliseconds since \
             1970, in the years 0000 to 9999, and this is `soon`",
        ),
        (
            "cover",
            text("aGk=="),
            "`cover` must be bytes as base64, such as `aGVsbG8=`, and this is not base64",
        ),
        ("cover", text(""), "`cover` must have 1 to 4 bytes, and this has 0"),
        (
            "cover",
            number("1"),
            "`cover` must be bytes of 1 to 4 bytes as base64, and this is a number",
        ),
        (
            "status",
            text("dnoe"),
            "`status` must be one of `active`, `done`, and this is `dnoe`; did you mean `done`?",
        ),
        (
            "editor",
            text(".."),
            "`editor` must be an id, which has 1 to 256 bytes, no control characters, and is not \
             `.` or `..`, and this is `..`",
        ),
        (
            "lines",
            Value::L(vec![text("a"); 4]),
            "`lines` must have at most 3 values, and this has 4",
        ),
        (
            "lines",
            Value::L(vec![text("a"), Value::Null]),
            "`lines[1]` must be a text, and this is null",
        ),
        (
            "grid",
            map([("a", Value::L(vec![number("1"), text("b")]))]),
            "`grid.a[1]` must be a whole number, and this is a text",
        ),
        (
            "labels",
            map([("a b", number("1"))]),
            "labels.`a b` must be a text, and this is a number",
        ),
        (
            "labels",
            map([("", text(""))]),
            "the name of labels.`` must have 1 to 128 bytes, and this has 0",
        ),
        (
            "body",
            map([("a", Value::B(vec![]))]),
            "`body.a` must be any JSON value, and this is bytes",
        ),
        (
            "body",
            (0..17).fold(text("x"), |inner, _| Value::L(vec![inner])),
            "`body` is nested more than 16 deep; make it flatter",
        ),
    ];
    for (name, value, expected) in cases {
        assert_eq!(admitted(name, value), expected);
    }
}

#[test]
fn all_errors_are_reported_at_once_in_the_order_of_the_model() {
    let wrong = Item::from([
        ("rating", number("9")),
        ("author", number("1")),
        ("lines", Value::L(vec![Value::Null, text("a"), Value::Null])),
        ("zzz", text("")),
    ]);
    let errors = book().admit(&wrong, NOW_MS).expect_err("much is wrong");
    let paths: Vec<String> = errors.iter().map(|error| error.path().to_string()).collect();
    assert_eq!(paths, ["author", "title", "rating", "lines[0]", "lines[2]", "extra", "zzz"]);
    assert_eq!(errors[1].to_string(), "`title` is missing; give a text of 1 to 10 characters");
    let limits = |low: i64, high: i64| keyloom_model::Limits {
        low: Some(Number::from(low)),
        high: Some(Number::from(high)),
    };
    let expected = FieldErrorKind::OutOfRange { limits: limits(1, 5), found: Number::from(9) };
    assert_eq!(errors[2].kind(), &expected);
}

#[test]
fn built_in_limits_are_inclusive() {
    let key = |length: usize| map([("k".repeat(length).as_str(), text("v"))]);
    let tags =
        |count: usize| Value::M((0..count).map(|n| (format!("k{n}").into(), text("v"))).collect());
    let id = |length: usize| text(&"i".repeat(length));
    let int = i64::MAX.to_string();
    let cases = [
        ("labels", key(128), key(129)),
        ("labels", tags(200), tags(201)),
        ("labels", map([("k", id(1024))]), map([("k", id(1025))])),
        ("body", key(1024), key(1025)),
        ("body", key(1), key(0)),
        ("editor", id(256), id(257)),
        ("editor", text("..."), text("")),
        ("editor", text("a\u{301}"), text("a\u{7f}")),
        ("until", number("253402300799999"), number("253402300800000")),
        ("until", number("-62167219200000"), number("-62167219200000.5")),
        (
            "grid",
            map([("a", Value::L(vec![number(&int)]))]),
            map([("a", Value::L(vec![number("9223372036854775808")]))]),
        ),
    ];
    for (name, right, wrong) in cases {
        assert!(book().admit(&document([(name, right.clone())]), 0).is_ok(), "{name}: {right}");
        let errors = book().admit(&document([(name, wrong.clone())]), 0).expect_err("too much");
        assert_eq!(errors.len(), 1, "{}", messages(&errors));
        assert!(errors[0].path().to_string().starts_with(name), "{}", errors[0]);
    }
}

#[test]
fn hostile_documents_get_few_and_short_errors() {
    let names = (0..50_000).map(|n| (format!("titl{n:055}").into(), Value::Null));
    let huge = text(&"x".repeat(1_000_000));
    let cases: [Item; 4] = [
        names.collect(),
        document([("lines", Value::L(vec![Value::Null; 100_000]))]),
        document([("status", huge.clone()), ("until", huge.clone()), ("editor", huge)]),
        Item::from([("x".repeat(1_000_000), Value::Null)]),
    ];
    for document in cases {
        let errors = book().admit(&document, NOW_MS).expect_err("it is wrong");
        assert!(errors.len() <= 100);
        assert!(errors.iter().all(|error| error.to_string().len() < 1000));
    }
    let deep = (0..2_000).fold(Value::Null, |inner, _| Value::L(vec![inner]));
    for name in ["body", "lines", "title", "nothing"] {
        let errors = book().admit(&document([(name, deep.clone())]), 0).expect_err("too deep");
        let patch = Item::from([(name, map([("a", deep.clone())]))]);
        assert!(book().admit_patch(&document([]), &patch).is_err());
        assert_eq!(errors[0].path().to_string(), name);
    }
}

#[test]
fn sets_are_refused_everywhere() {
    let set = Value::Ss(["a".to_owned()].into());
    for (name, value) in [
        ("title", set.clone()),
        ("body", set.clone()),
        ("body", Value::L(vec![set.clone()])),
        ("lines", set.clone()),
        ("labels", map([("a", set.clone())])),
    ] {
        assert!(admitted(name, value).ends_with("and this is a set"));
    }
}

#[test]
fn a_given_id_is_any_text_that_survives_a_url() {
    for right in ["a", "a/b", "#", " ", "...", "é", &"i".repeat(256)] {
        assert_eq!(check_id(right), Ok(()), "{right}");
    }
    for wrong in ["", ".", "..", "a\nb", "\u{85}", &"i".repeat(257)] {
        let error = check_id(wrong).expect_err("no id");
        assert_eq!(error.path().to_string(), "id");
        assert!(error.to_string().starts_with("`id` must be an id"), "{error}");
        assert!(!error.to_string().contains(char::is_control));
    }
}

/// A book with something in every field that can be merged.
fn stored() -> Item {
    let more = [
        ("labels", map([("a", text("1")), ("b", text("2"))])),
        ("body", map([("x", map([("y", number("1")), ("z", number("2"))]))])),
        ("seen", map([("a", text("1970-01-01T00:00:01Z"))])),
        ("price", number("1.50")),
        ("lines", Value::L(vec![text("a"), text("b")])),
    ];
    book().admit(&document(more), NOW_MS).expect("it is right")
}

#[test]
fn a_patch_changes_what_it_names_and_nothing_else() {
    let cases = [
        ("price", Value::Null, "absent"),
        ("status", Value::Null, "absent"),
        ("title", text("U"), "\"U\""),
        ("until", text("1970-01-01T00:00:00.001Z"), "1"),
        ("labels", map([("a", Value::Null), ("c", text("3"))]), "{b: \"2\", c: \"3\"}"),
        ("labels", map([]), "{a: \"1\", b: \"2\"}"),
        ("body", map([("x", map([("y", Value::Null)]))]), "{x: {z: 2}}"),
        ("body", map([("x", text("w"))]), "{x: \"w\"}"),
        ("body", Value::L(vec![map([("a", Value::Null)])]), "[{a: null}]"),
        ("extra", map([("a", map([("b", Value::Null)]))]), "{a: {}}"),
        ("seen", map([("b", text("1970-01-01T00:00:02Z"))]), "{a: 1000, b: 2000}"),
        ("lines", Value::L(vec![]), "[]"),
        ("grid", map([("a", Value::L(vec![])), ("b", Value::Null)]), "{a: []}"),
    ];
    for (name, change, expected) in cases {
        let mut before = stored();
        let patch = Item::from([(name, change)]);
        let mut after = book().admit_patch(&before, &patch).expect("it is right");
        let found = after.remove(name).map_or("absent".to_owned(), |value| value.to_string());
        assert_eq!(found, expected, "{name}");
        before.remove(name);
        assert_eq!(after, before);
    }
    assert_eq!(book().admit_patch(&stored(), &Item::new()), Ok(stored()));
}

#[test]
fn a_patch_with_an_invalid_result_is_refused() {
    let cases = [
        (
            "title",
            Value::Null,
            "`title` is required and cannot be null; give a text of 1 to 10 characters",
        ),
        (
            "rating",
            Value::Null,
            "`rating` is required and cannot be null; leave it out, or give a whole number from \
             1 to 5",
        ),
        ("titel", Value::Null, "`book` has no field `titel`; did you mean `title`?"),
        ("labels", map([("c", number("3"))]), "`labels.c` must be a text, and this is a number"),
        (
            "seen",
            map([("b", number("1")), ("c", number("2"))]),
            "`seen` must have at most 2 values, and this has 3",
        ),
        ("title", map([]), "`title` must be a text of 1 to 10 characters, and this is a map"),
        ("lines", map([]), "`lines` must be a list of at most 3 values, and this is a map"),
    ];
    for (name, change, expected) in cases {
        let errors = book().admit_patch(&stored(), &Item::from([(name, change)]));
        assert_eq!(messages(&errors.expect_err("it is wrong")).trim_end(), expected);
    }
}

#[test]
fn stored_fields_are_checked_without_conversion() {
    let cases = [
        (
            "until",
            text("1970-01-01T00:00:00Z"),
            "`until` must be a time such as `2024-02-29T12:00:00Z`, and this is a text",
        ),
        (
            "cover",
            text("aGk="),
            "`cover` must be bytes of 1 to 4 bytes as base64, and this is a text",
        ),
        (
            "price",
            Value::Null,
            "`price` must be a number of up to 38 digits from 0 to 99.99, and this is null",
        ),
        ("gone", text(""), "`book` has no field `gone`; leave it out, or add it to the model"),
    ];
    for (name, value, expected) in cases {
        let mut fields = stored();
        fields.insert(name, value);
        let errors = book().check_fields(&fields).expect_err("it is wrong");
        assert_eq!(messages(&errors).trim_end(), expected);
        // A patch of another field does not hide an error.
        let patch = Item::from([("title", text("U"))]);
        assert_eq!(book().admit_patch(&fields, &patch), Err(errors));
    }
    let mut fields = stored();
    fields.remove("created");
    let errors = book().check_fields(&fields).expect_err("a required field is missing");
    assert!(matches!(errors[0].kind(), FieldErrorKind::Missing { .. }));
}

#[test]
fn the_external_form_is_readable_and_can_be_admitted_again() {
    let mut fields = stored();
    fields.insert("cover", Value::B(vec![0xFF, 0xEF]));
    fields.remove("status");
    let shown = book().to_external(&fields);
    let expected = "{author: \"a1\", body: {x: {y: 1, z: 2}}, cover: \"/+8=\", \
                    created: \"2000-02-29T11:00:00Z\", extra: \"x\", \
                    labels: {a: \"1\", b: \"2\"}, lines: [\"a\", \"b\"], open: true, \
                    price: 1.5, rating: 3, seen: {a: \"1970-01-01T00:00:01Z\"}, status: null, \
                    title: \"T\"}";
    assert_eq!(shown.to_string(), expected);
    assert_eq!(book().admit(&shown, 0), Ok(fields));
    let with_id = Item::from([("id", text("b1")), ("version", text("7"))]);
    let shown = book().to_external(&with_id);
    assert_eq!((shown.get("id"), shown.get("version")), (Some(&text("b1")), Some(&text("7"))));
}

#[test]
fn a_length_error_names_its_unit() {
    let limits = |low, high| keyloom_model::Limits { low, high };
    let model = "[entity.a]\nfields.b = \"text? 1..\"\nfields.c = \"list? 2..2\"\n";
    let model = check(model).expect("the model is right");
    let entity = model.entity(model.find("a").expect("there is one"));
    let wrong = Item::from([("b", text("")), ("c", Value::L(vec![]))]);
    let errors = entity.admit(&wrong, 0).expect_err("too short");
    let (characters, values) = (LengthUnit::Characters, LengthUnit::Values);
    let length = |unit, limits, found| FieldErrorKind::Length { unit, limits, found };
    assert_eq!(errors[0].kind(), &length(characters, limits(Some(1), None), 0));
    assert_eq!(errors[1].kind(), &length(values, limits(Some(2), Some(2)), 0));
    assert_eq!(errors[0].to_string(), "`b` must have at least 1 character, and this has 0");
    assert_eq!(errors[1].to_string(), "`c` must have 2 values, and this has 0");
}
