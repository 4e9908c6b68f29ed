//! Formats: what each of them accepts, and when a field must have one.

use keyloom_model::{FieldErrorKind, Format, Model, check, render};
use keyloom_testkit::Random;
use keyloom_testkit::model::{document, drafts};
use keyloom_value::{Item, Value};
use proptest::prelude::*;
use proptest::string::string_regex;

fn check_cases(format: Format, right: &[&str], wrong: &[&str]) {
    for text in right {
        assert!(format.matches(text), "{format:?} is {text:?}");
    }
    for text in wrong {
        assert!(!format.matches(text), "{format:?} is not {text:?}");
    }
}

#[test]
fn email_addresses() {
    let long = format!("{}@example.com", "a".repeat(254));
    check_cases(
        Format::Email,
        &["a@b", "ada@example.com", "ada.o'neil+x@sub-1.example.com", "{a}@1.2"],
        &[
            "",
            "nobody",
            "@",
            "a@",
            "@b",
            "a@b@c",
            "a b@c",
            "a@b ",
            " a@b",
            "a@b\n",
            "a@-b",
            "a@b-",
            "a@b..c",
            "a@b.",
            "Ada <ada@example.com>",
            "a@b,c@d",
            "ä@b",
            "a@ä",
            "a@b\0",
            &long,
        ],
    );
}

#[test]
fn phone_numbers() {
    check_cases(
        Format::Phone,
        &["+1555010", "+15550100", "+123456789012345"],
        &[
            "",
            "+",
            "1",
            "15550100",
            "+155501",
            "+1234567890123456",
            "+05550100",
            "+1 555 0100",
            "+1-555-0100",
            "++15550100",
            "+15550100 ",
            "+15550100\n",
            "+1555010x",
            "+１５５５０１００",
        ],
    );
}

#[test]
fn urls() {
    let long = format!("https://a/{}", "x".repeat(2_000));
    check_cases(
        Format::Url,
        &[
            "http://a",
            "https://example.com",
            "https://example.com/",
            "http://127.0.0.1:8080/x?y=z#w",
            "http://[::1]:80/",
            "https://a.example:65535",
            "https://a?b",
            "http://a/%20%C3%A4",
        ],
        &[
            "",
            "not a url",
            "example.com",
            "//a",
            "ftp://a",
            "http:/a",
            "http://",
            "https:///x",
            "http://a b",
            "http://a/b c",
            "http://a:65536",
            "http://a:",
            "http://-a",
            "http://a/%2",
            "http://u:p@a/",
            "http://a/\"",
            "http://a/ä",
            "HTTP://a",
            "javascript:alert(1)",
            "http://a\n",
            " http://a",
            "http://[x]/",
            "http://a\\b",
            &long,
        ],
    );
}

#[test]
fn uuids() {
    check_cases(
        Format::Uuid,
        &[
            "0b7e3f52-9c1d-4f6a-8e21-5d3c4b2a1908",
            "0B7E3F52-9C1D-4F6A-8E21-5D3C4B2A1908",
            "00000000-0000-0000-0000-000000000000",
        ],
        &[
            "",
            "0b7e3f529c1d4f6a8e215d3c4b2a1908",
            "{0b7e3f52-9c1d-4f6a-8e21-5d3c4b2a1908}",
            "0b7e3f52-9c1d-4f6a-8e21-5d3c4b2a190",
            "0b7e3f52-9c1d-4f6a-8e21-5d3c4b2a19080",
            "0b7e3f52-9c1d-4f6a-8e21-5d3c4b2a190g",
            "0b7e3f52-9c1d-4f6a-8e21-5d3c4b2a1908\n",
            "0b7e3f5-29c1d-4f6a-8e21-5d3c4b2a1908",
        ],
    );
}

#[test]
fn slugs() {
    let (longest, long) = ("a".repeat(200), "a".repeat(201));
    check_cases(
        Format::Slug,
        &["a", "7", "my-first-post", "2024-02-29", &longest],
        &["", "-", "-a", "a-", "a--b", "A", "a b", "a_b", "ä", "a\n", " a", &long],
    );
}

#[test]
fn the_list_of_formats_is_complete() {
    let after = |format: &Format| match format {
        Format::Email => Some(Format::Phone),
        Format::Phone => Some(Format::Url),
        Format::Url => Some(Format::Uuid),
        Format::Uuid => Some(Format::Slug),
        Format::Slug => None,
    };
    let every: Vec<Format> = std::iter::successors(Some(Format::Email), after).collect();
    assert_eq!(every, Format::ALL);
}

#[test]
fn every_example_has_its_format_and_no_other() {
    for format in Format::ALL {
        // A UUID with lower-case digits is a slug too.
        let others = Format::ALL.into_iter().filter(|other| *other != Format::Slug);
        let own = others.filter(|other| other.matches(format.example()));
        let own: Vec<Format> = own.collect();
        let expected = if format == Format::Slug { vec![] } else { vec![format] };
        assert_eq!(own, expected);
        assert!(format.matches(format.example()));
        assert!(format.in_words().contains(format.example()));
    }
}

/// Texts generated from the pattern of a format.
fn texts(format: Format) -> impl Strategy<Value = String> {
    let inside = format.pattern().trim_start_matches('^').trim_end_matches('$');
    string_regex(inside).expect("it is a pattern")
}

fn methods() -> Model {
    let text = "[entity.method]\nfields.kind = \"enum(call, email, other)?\"\n\
                fields.destination = \"text?\"\nfields.site = \"text?\"\nformat.site = \"url\"\n\
                format.destination.kind = { call = \"phone\", email = \"email\" }\n";
    check(text).unwrap_or_else(|errors| panic!("{}", render(&errors, "model.toml")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_generated_from_the_pattern_match(
        email in texts(Format::Email),
        phone in texts(Format::Phone),
        url in texts(Format::Url),
    ) {
        for (format, text) in [(Format::Email, email), (Format::Phone, phone), (Format::Url, url)] {
            let is_short = text.len() as u64 <= format.length_max();
            prop_assert_eq!(format.matches(&text), is_short, "{}", text);
            for bad in [format!(" {text}"), format!("{text}\n"), text.replace(['+', '@', ':'], "")] {
                prop_assert!(!format.matches(&bad), "{}", bad);
            }
        }
    }

    #[test]
    fn no_text_with_anything_odd_has_a_format(text in any::<String>()) {
        for format in Format::ALL.into_iter().filter(|format| format.matches(&text)) {
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}: {}", format, text);
        }
    }

    /// The same verdict for a document, for stored fields and for a patch, whichever field the
    /// patch changes.
    #[test]
    fn the_format_is_that_of_the_member(
        kind in prop::option::of(prop::sample::select(vec!["call", "email", "other"])),
        destination in prop::option::of(prop::sample::select(vec!["+15550100", "a@b", "x"])),
    ) {
        let model = methods();
        let method = model.entity(model.find("method").expect("it is there"));
        let pairs = [("kind", kind), ("destination", destination)];
        let fields: Item = pairs.iter().filter_map(|(name, value)| Some(((*name).into(), Value::from((*value)?)))).collect();
        let is_right = match (kind, destination) {
            (None | Some("other"), _) | (_, None) => true,
            (Some("call"), text) => text == Some("+15550100"),
            (_, text) => text == Some("a@b"),
        };
        prop_assert_eq!(method.admit(&fields, 0).is_ok(), is_right);
        prop_assert_eq!(method.check_fields(&fields).is_ok(), is_right);
        for name in ["kind", "destination"] {
            let mut rest = fields.clone();
            let patch: Item = rest.remove(name).map(|value| (name.into(), value)).into_iter().collect();
            let patched = method.admit_patch(&rest, &patch);
            prop_assert_eq!(patched.is_ok(), is_right, "{:?}", patched);
        }
    }

    #[test]
    fn documents_of_random_models_keep_formats_and_others_do_not(
        draft in drafts(),
        seed in any::<u64>(),
    ) {
        let (model, mut random) = (draft.model(), Random::new(seed));
        let ids = |_| vec!["a".to_owned()];
        for (id, entity) in model.entities() {
            let Some(fields) = document((&model, id), &ids, &mut random) else { continue };
            if entity.admit(&fields, 0).is_err() {
                continue;
            }
            for rule in &entity.formats {
                let (name, mut wrong) = (&entity.field(rule.field).name, fields.clone());
                let Some(format) = entity.required_format(rule, &fields).filter(|_| fields.contains(name)) else { continue };
                wrong.insert(name.as_str(), "not in any format");
                let errors = entity.admit(&wrong, 0).expect_err("it has no format");
                let is_told = errors.iter().any(|error| {
                    matches!(error.kind(), FieldErrorKind::NotInFormat { format: of, .. } if *of == format)
                        && error.path().to_string() == *name
                });
                prop_assert!(is_told, "{:?}", errors);
            }
        }
    }
}

#[test]
fn an_error_shows_an_example() {
    let model = methods();
    let method = model.entity(model.find("method").expect("it is there"));
    let wrong = Item::from([("kind", "call"), ("destination", "x"), ("site", "not a url")]);
    let errors = method.admit(&wrong, 0).expect_err("both are wrong");
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "`site` must be an http or https URL such as `https://example.com/hook`, and this is \
             `not a url`",
            "`destination` must be a phone number such as `+15550100`, with 7 to 15 digits, and \
             this is `x`",
        ]
    );
}
