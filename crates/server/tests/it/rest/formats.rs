//! Formats of texts: every way to write over HTTP checks them, and the OpenAPI document has their patterns.

use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::served::{Served, app};

const RIGHT: [(&str, &str); 4] = [
    ("call", "+15550100"),
    ("text", "+15550100"),
    ("email", "ada@example.com"),
    ("webhook", "https://example.com/x"),
];
const WRONG: [(&str, &str); 6] = [
    ("call", "+1 555 0100"),
    ("text", "ada@example.com"),
    ("email", "nobody"),
    ("email", "Ada <ada@example.com>"),
    ("webhook", "not a url"),
    ("webhook", "ftp://example.com"),
];

/// The problem of a response, or that of the only part of a batch.
fn errors(answer: &Json) -> Json {
    match answer.get("results") {
        Some(results) => results[0]["problem"]["errors"].clone(),
        None => answer["errors"].clone(),
    }
}

#[test]
fn an_invalid_destination_is_rejected() {
    let served = Served::open(&app("oncall"));
    let ask = |ask: Ask| served.ask(&ask.tenant("acme"));
    let contact = ask(Ask::post("/contacts", &json!({"name": "Ada"}))).expect_json(201);
    let document = |(kind, destination): (&str, &str)| json!({"contact": contact["id"], "kind": kind, "destination": destination, "position": 1});
    for right in RIGHT {
        let made = ask(Ask::post("/methods", &document(right))).expect_json(201);
        let id = made["id"].as_str().unwrap();
        let path = format!("/methods/{id}");
        for wrong in WRONG {
            let wrong = document(wrong);
            let part = |verb: &str| match verb {
                "create" => json!({"create": "method", "document": wrong}),
                verb => json!({verb: "method", "id": id, "document": wrong}),
            };
            let mut asks = vec![
                Ask::post("/methods", &wrong),
                Ask::put(&path, &wrong),
                Ask::patch(&path, &wrong),
            ];
            for verb in ["create", "put", "update"] {
                asks.push(Ask::post("/batch", &json!({"requests": [part(verb)]})));
                asks.push(Ask::post("/transaction", &json!({"changes": [part(verb)]})));
            }
            for request in asks {
                let errors = errors(&ask(request.clone()).json());
                assert_eq!(errors[0]["field"], "destination", "{request:?}: {errors}");
            }
        }
        // The kind alone cannot change, either, unless the destination is valid for both.
        for (kind, destination) in RIGHT {
            let patched = ask(Ask::patch(&path, &json!({"kind": kind})));
            let is_right = destination.starts_with('+') == right.1.starts_with('+')
                && (kind == right.0 || destination.starts_with('+'));
            let expected = if is_right { "200" } else { "422 invalid" };
            assert_eq!(patched.outcome(), expected, "{right:?} {kind}");
        }
    }
}

const MODEL: &str = r#"
[entity.person]
path = "/people"
fields.email = "text ..100"
fields.phone = "text?"
fields.kind = "enum(home, work)"
fields.site = "text"
format = { email = "email", phone = "phone", site = { kind = { work = "url" } } }
"#;

#[test]
fn formats_are_documented() {
    let served = Served::open(MODEL);
    let document = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    for schema in ["person.create", "person.replace", "person.patch"] {
        let schema = &document["components"]["schemas"][schema];
        let (email, phone) = (&schema["properties"]["email"], &schema["properties"]["phone"]);
        assert_eq!((&email["format"], &email["maxLength"]), (&json!("email"), &json!(100)));
        assert_eq!(phone["pattern"], r"^\+[1-9][0-9]{6,14}$");
        assert_eq!(schema["properties"]["site"].get("pattern"), None);
        let rule = &schema["allOf"][0];
        assert_eq!(rule["if"]["properties"]["kind"]["const"], "work");
        assert_eq!(rule["then"]["properties"]["site"]["maxLength"], 2000);
    }
    let example = &document["paths"]["/people"]["post"]["requestBody"]["content"];
    let example = &example["application/json"]["example"];
    served.ask(&Ask::post("/people", example)).expect_json(201);
    let page = served.ask(&Ask::get("/docs"));
    assert!(page.text().contains("Must be an email address such as"));
}

#[test]
fn rules_of_values_hold_for_requests_and_are_in_the_description() {
    let model = r#"
[entity.part]
id = "given"
fields.number = "text ..40"
fields.code   = "text?"
fields.status = "enum(open, doing, done) = open"
pattern.number = "[A-Z]{3}-[0-9]+"
format.code    = "uuid"
fields.kind    = "enum(any, wish, bug)"
initial.kind   = ["wish", "bug"]
transitions.status = { open = ["doing"], doing = ["done", "open"] }
"#;
    let served = Served::open(model);
    let part = |number: &str| json!({"id": "a", "number": number, "kind": "bug"});
    let refused = served.ask(&Ask::post("/parts", &part("ABC-1\n")));
    assert_eq!(refused.outcome(), "422 invalid");
    assert_eq!(refused.json()["errors"][0]["field"], "number");
    served.ask(&Ask::post("/parts", &part("ABC-1"))).expect_json(201);
    let other = json!({"id": "b", "number": "ABC-1", "kind": "any"});
    assert_eq!(served.ask(&Ask::post("/parts", &other)).outcome(), "422 invalid");
    let patch = |patch| served.ask(&Ask::patch("/parts/a", &patch));
    assert_eq!(patch(json!({"number": "abc-1"})).outcome(), "422 invalid");
    assert_eq!(patch(json!({"code": "none"})).outcome(), "422 invalid");
    let skipped = patch(json!({"status": "done"}));
    assert_eq!(skipped.outcome(), "422 invalid");
    let detail = skipped.json()["errors"][0]["detail"].clone();
    let expected = "`status` cannot change from `open` to `done`; it can change to `doing`.";
    assert_eq!(detail, expected);
    patch(json!({"status": "doing"})).expect_json(200);
    let whole = json!({"number": "ABC-1", "status": "done", "kind": "any"});
    served.ask(&Ask::put("/parts/a", &whole)).expect_json(200);
    assert_eq!(patch(json!({"status": "open"})).outcome(), "422 invalid");
    let open = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    let create = &open["components"]["schemas"]["part.create"]["properties"];
    assert_eq!(create["number"]["pattern"], "^(?:[A-Z]{3}-[0-9]+)$");
    assert_eq!(create["number"]["maxLength"], 40);
    assert_eq!(create["code"]["format"], "uuid");
    let about = create["status"]["description"].as_str().unwrap();
    assert!(about.contains("from `open` to `doing`, from `doing` to `done` or `open`"), "{about}");
    let about = create["kind"]["description"].as_str().unwrap();
    assert!(about.contains("New ones have `wish` or `bug`."), "{about}");
    let example = &open["paths"]["/parts"]["post"]["requestBody"]["content"]["application/json"];
    assert_eq!(example["example"]["kind"], "wish");
    assert_eq!(example["example"]["number"], "ABC-3");
}

/// Whoever sent the example of few bytes, or of an empty list, was told that it has too many.
#[test]
fn examples_of_random_models_satisfy_their_rules() {
    let mut count = 0;
    for seed in 0..100 {
        let draft = keyloom_testkit::model::draft(&mut keyloom_testkit::Random::new(seed));
        let served = Served::open(&draft.text());
        let open = served.ask(&Ask::get("/openapi.json")).expect_json(200);
        for (path, operations) in open["paths"].as_object().unwrap() {
            let content = &operations["post"]["requestBody"]["content"]["application/json"];
            let creates = operations["post"]["operationId"]
                .as_str()
                .is_some_and(|id| id.starts_with("create_"));
            if !creates || path.starts_with("/tokens") || path.starts_with("/console") {
                continue;
            }
            let example = &content["example"];
            let answer = served.ask(&Ask::post(path, example).tenant("1"));
            // What it refers to does not exist.
            if answer.outcome() == "422 invalid" && !example.to_string().contains("ID OF") {
                panic!("seed {seed}: {example} is no {path}: {}\n{}", answer.text(), draft.text());
            }
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

/// Whoever sent the example of an entity that expires created one that nobody could see.
#[test]
fn the_example_of_an_entity_that_expires_is_still_there_when_it_was_created() {
    let served = Served::open("[entity.offer]\nexpires = \"until\"\nfields.until = \"time\"");
    let document = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    let content = &document["paths"]["/offers"]["post"]["requestBody"]["content"];
    let example = &content["application/json"]["example"];
    let created = served.ask(&Ask::post("/offers", example)).expect_json(201);
    let path = format!("/offers/{}", created["id"].as_str().unwrap());
    served.ask(&Ask::get(&path)).expect_json(200);
}
