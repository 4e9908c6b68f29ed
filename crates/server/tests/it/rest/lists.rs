//! Which query a request selects: lists that share a path, lists without one, uniques.

use pollster::block_on;
use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};

const MODEL: &str = r#"
[entity.team]
id = "given"
fields.name = "text"

[entity.person]
path = "/people"
parent = "team"
fields.name = "text"
fields.email = "text?"
fields.age = "int"
unique = [
  { fields = ["email"], fold_case = true },
  { fields = ["name"], within = "team", fold_case = true },
  ["age", "name"],
]
list.by_age = { path = "/people", order = "age" }
list.by_team = { path = "/people", by = "team", order = "-age" }
list.by_name = { by = "name", order = ["age", "-email"] }
"#;

fn people() -> Served {
    let served = Served::open(MODEL);
    for team in ["x", "y"] {
        served.ask(&Ask::post("/teams", &json!({"id": team, "name": team}))).expect_json(201);
    }
    let people = [("x", "Ann", 30), ("x", "Bob", 20), ("y", "Ann", 40), ("y", "Cid", 10)];
    for (team, name, age) in people {
        let email = format!("{name}@{team}.example");
        let person = json!({"team": team, "name": name, "age": age, "email": email});
        served.ask(&Ask::post("/people", &person)).expect_json(201);
    }
    served
}

fn ages(page: &Value) -> Vec<i64> {
    page["items"].as_array().unwrap().iter().map(|item| item["age"].as_i64().unwrap()).collect()
}

#[test]
fn the_parameters_of_a_request_select_the_query() {
    let served = people();
    let cases: &[(&str, &[i64])] = &[
        ("/people", &[10, 20, 30, 40]),
        ("/people?reverse=true", &[40, 30, 20, 10]),
        ("/people?reverse=false", &[10, 20, 30, 40]),
        ("/people?age=%3E10&age=%3C=30", &[20, 30]),
        ("/people?age=20", &[20]),
        ("/people?age==20", &[20]),
        ("/people?age=20", &[20]),
        ("/people?age=15", &[]),
        ("/people?age=%3E30&age=%3C20", &[]),
        ("/people?team=x", &[30, 20]),
        ("/people?team=x&reverse=true", &[20, 30]),
        ("/people?team=y&age=%3E=40", &[40]),
        ("/people?team=none", &[]),
        ("/people/lists/by_name?name=Ann", &[30, 40]),
        ("/people/lists/by_name?name=Ann&age=40&email=%3EA", &[40]),
        ("/people/lists/by_name?name=ann", &[]),
        // Uniques.
        ("/people?email=ANN@X.example", &[30]),
        ("/people?email=none", &[]),
        ("/people?team=y&name=aNN", &[40]),
        ("/people?name=bob&team=x", &[20]),
        ("/people?name=Bob&team=y", &[]),
        ("/people?name=Cid&age=10", &[10]),
        ("/people?age=10&name=cid", &[]),
    ];
    for (path, expected) in cases {
        let page = served.ask(&Ask::get(path)).expect_json(200);
        assert_eq!(ages(&page), *expected, "{path}");
        assert_eq!(page.get("next"), None, "{path}");
    }
    let unasked = ["/people?name=Ann", "/people?email=%3EA", "/people?email=a&team=x"];
    for path in unasked {
        let answer = served.ask(&Ask::get(path));
        assert_eq!(answer.outcome(), "400 bad-parameter", "{path}");
        assert!(answer.text().contains("`age`"), "{}", answer.text());
    }
}

#[test]
fn a_value_can_begin_with_an_operator() {
    let served = people();
    for name in ["<b>", "=", ">=1", "a=b&c", "1+1", "%41"] {
        let person = json!({"team": "x", "name": name, "age": 1, "email": name});
        served.ask(&Ask::post("/people", &person)).expect_json(201);
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("/people/lists/by_name?name=={encoded}");
        let page = served.ask(&Ask::get(&path)).expect_json(200);
        assert_eq!(page["items"][0]["name"], name, "{path}");
    }
}

#[test]
fn children_are_paged_and_need_an_existing_parent() {
    let served = people();
    let page = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let first = page("/teams/x/with/people?limit=1");
    let next = first["next"].as_str().unwrap();
    let second = page(&format!("/teams/x/with/people?limit=1&cursor={next}"));
    let mut both = [ages(&first), ages(&second)].concat();
    both.sort_unstable();
    assert_eq!((both, second.get("next")), (vec![20, 30], None));
    for (path, outcome) in [
        ("/teams/none/with/people".to_owned(), "404 not-found"),
        (format!("/teams/y/with/people?cursor={next}"), "400 bad-cursor"),
        ("/teams/x/with/teams".to_owned(), "404 not-found"),
        ("/teams/x/with/people?limit=0".to_owned(), "400 bad-parameter"),
        ("/teams/x/with/people?reverse=true".to_owned(), "400 bad-parameter"),
    ] {
        assert_eq!(served.ask(&Ask::get(&path)).outcome(), outcome, "{path}");
    }
}

#[test]
fn the_lists_of_the_apps_are_at_their_declared_paths() {
    let served = Served::open(&app("oncall"));
    let made = |path: &str, document| {
        served.ask(&Ask::post(path, &document).tenant("acme")).expect_json(201)
    };
    let contact = made("/contacts", json!({"name": "Ann"}));
    let id = contact["id"].as_str().unwrap();
    let times = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"];
    for (created, status) in times.iter().zip(["active", "failed", "active"]) {
        let search = made("/searches", json!({"contact": id, "created": created}));
        let (db, search) = (served.db.tenant("acme"), search["id"].as_str().unwrap());
        block_on(db.update("search", search, &json!({"status": status}))).unwrap();
    }
    let days = |query: &str| -> Vec<String> {
        let path = format!("/contacts/{id}/searches{query}");
        let page = served.ask(&Ask::get(&path).tenant("acme")).expect_json(200);
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["created"].as_str().unwrap()[8..10].to_owned()).collect()
    };
    assert_eq!(days(""), ["01", "02", "03"]);
    assert_eq!(days("?status=active"), ["01", "03"]);
    assert_eq!(days("?status=active&reverse=true"), ["03", "01"]);
    assert_eq!(days("?created=%3C2026-01-03T00:00:00Z"), ["01", "02"]);
    assert_eq!(days("?status=active&created=%3E2026-01-01T01:00:00%2B01:00"), ["03"]);
    let wrong = Ask::get(&format!("/contacts/{id}/searches?status=lost")).tenant("acme");
    assert_eq!(served.ask(&wrong).outcome(), "400 bad-parameter");
}

#[test]
fn a_list_under_a_missing_entity_is_not_found() {
    let served = Served::open(&app("oncall"));
    let contact = Ask::post("/contacts", &json!({"name": "Ann"})).tenant("acme");
    let contact = served.ask(&contact).expect_json(201);
    let id = contact["id"].as_str().unwrap();
    for list in ["searches", "searches?status=active", "methods", "methods?reverse=true"] {
        let ask = |contact: &str, tenant: &str| {
            served.ask(&Ask::get(&format!("/contacts/{contact}/{list}")).tenant(tenant)).outcome()
        };
        assert_eq!(ask(id, "acme"), "200", "{list}");
        assert_eq!(ask("none", "acme"), "404 not-found", "{list}");
        assert_eq!(ask(id, "other"), "404 not-found", "{list} of another tenant");
    }
}
