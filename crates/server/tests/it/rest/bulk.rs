//! Several changes in one request: atomic (`/transaction`) and independent (`/batch`).

use keyloom_server::Role;
use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};
use crate::rig::Answer;

fn kitchen() -> Served {
    let served = Served::open(&app("kitchen"));
    let pasta = json!({"name": "pasta", "shop_order": 1});
    served.ask(&Ask::post("/categories", &pasta)).expect_json(201);
    served
}

fn categories(served: &Served) -> Vec<String> {
    let page = served.ask(&Ask::get("/categories")).expect_json(200);
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

fn create(name: &str, shop_order: i64) -> Value {
    json!({"create": "category", "document": {"name": name, "shop_order": shop_order}})
}

fn transaction(served: &Served, changes: Value) -> Answer {
    served.ask(&Ask::post("/transaction", &json!({ "changes": changes })))
}

fn statuses(answer: &Answer) -> Vec<u64> {
    let results = answer.expect_json(200)["results"].clone();
    results.as_array().unwrap().iter().map(|result| result["status"].as_u64().unwrap()).collect()
}

#[test]
fn a_transaction_is_atomic() {
    let served = kitchen();
    let made = transaction(&served, json!([create("fruit", 2), create("meat", 3)]));
    let results = made.expect_json(200)["results"].clone();
    let (fruit, version) = (&results[0]["id"], &results[0]["version"]);
    assert_eq!(categories(&served), ["pasta", "fruit", "meat"]);
    let changes = json!([
        {"update": "category", "id": fruit, "version": version, "document": {"shop_order": 9}},
        {"put": "category", "id": results[1]["id"], "document": {"name": "fish", "shop_order": 0}},
        create("bread", 4),
    ]);
    assert_eq!(transaction(&served, changes).status, 200);
    assert_eq!(categories(&served), ["fish", "pasta", "bread", "fruit"]);
    let deleted = transaction(&served, json!([{"delete": "category", "id": fruit}]));
    assert_eq!(deleted.expect_json(200), json!({"results": [null]}));
    assert_eq!(transaction(&served, json!([])).expect_json(200), json!({"results": []}));
}

#[test]
fn one_invalid_part_prevents_the_whole_transaction() {
    let served = kitchen();
    let first = served.ask(&Ask::get("/categories")).expect_json(200)["items"][0].clone();
    let cases = [
        (create("pasta", 1), "409 taken"),
        (create("", 1), "422 invalid"),
        (
            json!({"create": "ingredient", "document": {"name": "x", "category": "none"}}),
            "422 target-gone",
        ),
        (json!({"delete": "category", "id": "none"}), "404 not-found"),
        (
            json!({"update": "category", "id": first["id"], "version": "x", "document": {}}),
            "409 version-conflict",
        ),
        (json!({"get": "category", "id": first["id"]}), "422 invalid"),
        (json!({"create": "cat", "document": {}}), "422 invalid"),
        (create("fruit", 3), "409 taken"),
    ];
    for (part, expected) in cases {
        for changes in [json!([create("fruit", 2), part]), json!([part, create("fruit", 2)])] {
            let outcome = transaction(&served, changes.clone()).outcome();
            assert_eq!(outcome, expected, "{changes}");
            assert_eq!(categories(&served), ["pasta"], "{changes}");
        }
    }
    let many: Vec<Value> = (0..101).map(|number| create(&format!("{number}"), number)).collect();
    assert_eq!(transaction(&served, json!(many)).outcome(), "422 too-large");
    assert_eq!(categories(&served), ["pasta"]);
}

#[test]
fn later_changes_refer_to_new_entities_by_name() {
    let served = kitchen();
    let named = json!({"$ref": "fruit"});
    let changes = json!([
        {"create": "category", "document": {"name": "fruit", "shop_order": 2}, "as": "fruit"},
        {"create": "ingredient", "document": {"name": "pear", "category": named}},
        {"create": "ingredient", "document": {"name": "plum", "category": named}},
    ]);
    let body = json!({ "changes": changes });
    let explained = served.ask(&Ask::post("/transaction?explain=true", &body)).expect_json(200);
    let rows = explained["explain"]["rows"].as_array().unwrap().clone();
    assert_eq!(rows.iter().filter(|row| row["what"] == "entity").count(), 3, "{explained}");
    assert_eq!(categories(&served), ["pasta"]);

    let once = Ask::post("/transaction", &body).header("Idempotency-Key", "key");
    let first = served.ask(&once).expect_json(200);
    let results = first["results"].as_array().unwrap();
    let fruit = results[0]["id"].as_str().unwrap();
    assert_eq!((&results[1]["category"], &results[2]["category"]), (&json!(fruit), &json!(fruit)));
    assert_eq!(served.ask(&once).expect_json(200), first);
    assert_eq!(categories(&served), ["pasta", "fruit"]);
    let read = served.ask(&Ask::get(&format!("/categories/{fruit}?with=ingredients")));
    assert_eq!(read.expect_json(200)["with"]["ingredients"]["items"].as_array().unwrap().len(), 2);
}

#[test]
fn invalid_names_are_rejected_with_the_position_of_the_change() {
    let served = kitchen();
    let fruit = |name: Value| json!({"create": "category", "document": {"name": "fruit", "shop_order": 2}, "as": name});
    let pear =
        |of: Value| json!({"create": "ingredient", "document": {"name": "pear", "category": of}});
    let cases = [
        (json!([fruit(json!("a")), pear(json!({"$ref": "b"}))]), "category"),
        (json!([pear(json!({"$ref": "a"})), fruit(json!("a"))]), "category"),
        (json!([fruit(json!("a")), {"delete": "recipe", "id": {"$ref": "b"}}]), "id"),
        (json!([fruit(json!(""))]), "changes[0]"),
        (json!([fruit(json!("x".repeat(61)))]), "changes[0]"),
        (json!([fruit(json!(1))]), "changes[0]"),
        (json!([create("meat", 1), {"delete": "category", "id": "x", "as": "a"}]), "changes[1]"),
        (json!([{"delete": "category", "id": {"$ref": 1}}]), "changes[0]"),
        (json!([{"delete": "category", "id": {"$ref": "a", "b": 1}}]), "changes[0]"),
    ];
    for (changes, field) in cases {
        let answer = transaction(&served, changes.clone());
        assert_eq!(answer.outcome(), "422 invalid", "{changes}");
        assert_eq!(answer.json()["errors"][0]["field"], field, "{changes}");
    }
    let twice = json!([fruit(json!("a")), fruit(json!("a"))]);
    assert_eq!(transaction(&served, twice).outcome(), "422 invalid");
    // The parts of a batch are independent, so none can name another.
    for part in [fruit(json!("a")), json!({"get": "category", "id": {"$ref": "a"}})] {
        let answer = served.ask(&Ask::post("/batch", &json!({ "requests": [part] })));
        assert_eq!(answer.outcome(), "422 invalid", "{part}");
    }
    let alone = json!({"name": "pear", "category": {"$ref": "a"}});
    assert_eq!(served.ask(&Ask::post("/ingredients", &alone)).outcome(), "422 invalid");
    assert_eq!(categories(&served), ["pasta"]);
}

#[test]
fn the_parts_of_a_batch_are_independent() {
    let served = kitchen();
    let first = served.ask(&Ask::get("/categories")).expect_json(200)["items"][0].clone();
    let requests = json!([
        create("fruit", 2),
        create("pasta", 2),
        {"get": "category", "id": first["id"]},
        {"get": "category", "id": "none"},
        {"update": "category", "id": first["id"], "document": {"name": "noodles"}},
        {"delete": "category", "id": "none"},
        create("", 0),
    ]);
    let answer = served.ask(&Ask::post("/batch", &json!({ "requests": requests })));
    // They run concurrently, so either can come first.
    let found = statuses(&answer);
    assert!([201, 409].contains(&found[1]), "{found:?}");
    assert_eq!([&found[..1], &found[2..]].concat(), [201, 200, 404, 200, 404, 422]);
    let results = answer.json()["results"].clone();
    assert_eq!(results[3]["problem"]["code"], "not-found");
    assert_eq!(results[3]["problem"]["request_id"], answer.header("x-request-id").unwrap());
    assert_eq!(results[0]["body"]["name"], "fruit");
    assert_eq!(results[6]["problem"]["errors"][0]["field"], "name");
    let names = categories(&served);
    assert!(names.contains(&"noodles".to_owned()) && names.contains(&"fruit".to_owned()));
}

#[test]
fn a_part_has_exactly_the_members_of_its_verb() {
    let served = kitchen();
    let cases = [
        json!(1),
        json!({}),
        json!({"create": "category", "delete": "category", "id": "x"}),
        json!({"create": "category"}),
        json!({"create": "category", "document": []}),
        json!({"create": "category", "document": {}, "id": "x"}),
        json!({"create": "category", "document": {"name": "x", "shop_order": 1}, "version": "v"}),
        json!({"create": 1, "document": {}}),
        json!({"update": "category", "id": "x"}),
        json!({"update": "category", "id": 1, "document": {}}),
        json!({"put": "category", "document": {}}),
        json!({"delete": "category", "id": "x", "document": {}}),
        json!({"get": "category", "id": "x", "version": "v"}),
        json!({"delete": "category", "id": "x", "more": 1}),
    ];
    for part in cases {
        for (path, name) in [("/batch", "requests"), ("/transaction", "changes")] {
            let answer = served.ask(&Ask::post(path, &json!({ name: [part] })));
            assert_eq!(answer.outcome(), "422 invalid", "{path} {part}");
            let place = format!("{name}[0]");
            assert!(answer.text().contains(&place), "{path} {part} {}", answer.text());
        }
    }
    for body in [json!({}), json!({"requests": {}}), json!({"requests": [], "more": 1})] {
        assert_eq!(served.ask(&Ask::post("/batch", &body)).outcome(), "422 invalid", "{body}");
    }
    assert_eq!(categories(&served), ["pasta"]);
}

#[test]
fn a_batch_checks_the_permissions_of_each_part() {
    let served = Served::closed(&app("kitchen"));
    let reader = served.token(Role::Reader, None);
    let requests = json!([{"get": "category", "id": "x"}, create("fruit", 1)]);
    let ask = Ask::post("/batch", &json!({ "requests": requests })).bearer(&reader);
    assert_eq!(served.ask(&ask).outcome(), "403 forbidden");
    let ask = Ask::post("/batch", &json!({ "requests": [requests[0]] })).bearer(&reader);
    assert_eq!(statuses(&served.ask(&ask)), [404]);
    let ask = Ask::get("/categories").bearer(&reader);
    assert_eq!(served.ask(&ask).expect_json(200), json!({"items": []}));
}
