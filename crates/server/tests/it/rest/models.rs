//! The model over HTTP: as it is served, compared with another one, and the rows of entities.

use keyloom_server::Role;
use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};

#[test]
fn the_served_model_can_be_read() {
    let served = Served::closed(&app("oncall"));
    let reader = served.token(Role::Reader, None);
    let model = served.ask(&Ask::get("/model").bearer(&reader)).expect_json(200);
    assert_eq!(model["text"], app("oncall"));
    let entities = model["entities"].as_array().unwrap();
    let contact = entities.iter().find(|entity| entity["name"] == "contact").unwrap();
    assert_eq!(contact["has_tenant"], true);
    assert!(contact["lists"].as_array().is_some_and(|lists| !lists.is_empty()), "{contact}");
    let declaration = contact["declaration"].as_str().unwrap();
    assert!(declaration.starts_with("[entity.contact]"), "{declaration}");
    assert!(declaration.ends_with("path  = \"/contacts\"\norder = \"name\"\n"), "{declaration}");
    assert!(!declaration.contains("[entity.method]"), "{declaration}");
    let job = entities.iter().find(|entity| entity["name"] == "job").unwrap();
    assert_eq!(job["declaration"], "");
    assert_eq!(served.ask(&Ask::get("/model")).outcome(), "401 unauthorized");
}

#[test]
fn references_lead_to_their_targets_in_lists_too() {
    let served = Served::open(&app("oncall"));
    let model = served.ask(&Ask::get("/model")).expect_json(200);
    let entities = model["entities"].as_array().unwrap();
    let search = entities.iter().find(|entity| entity["name"] == "search").unwrap();
    let targets = search["fields"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|field| Some((field["name"].as_str()?, field["target"].as_str()?)));
    assert_eq!(targets.collect::<Vec<_>>(), [("contact", "contact"), ("then", "contact")]);
}

#[test]
fn another_model_is_compared_and_nothing_changes() {
    let served = Served::closed(&app("tasks"));
    let reader = served.token(Role::Reader, None);
    let compare = |text: &str| {
        served.ask(&Ask::post("/model", &json!({ "text": text })).bearer(&reader)).expect_json(200)
    };
    let nothing = json!({"errors": [], "changes": [], "refusals": [], "rewritten": [],
                         "unavailable": []});
    assert_eq!(compare(&app("tasks")), nothing);

    let with_list =
        format!("{}\n[entity.task.list.done]\nwhere = {{ done = true }}\n", app("tasks"));
    let compared = compare(&with_list);
    assert_eq!(compared["rewritten"], json!(["task"]));
    assert!(compared["unavailable"].to_string().contains("the list `done`"), "{compared}");

    let renumbered = app("tasks").replace("\"bool = false\"", "\"int = 0\"");
    assert_ne!(compare(&renumbered)["errors"], json!([]), "`where` compares with a bool");
    let wrong = compare("[entity.task]\nfields.name = \"txt\"\n");
    let error = &wrong["errors"][0];
    assert_eq!((&error["line"], wrong["changes"].as_array().unwrap().len()), (&json!(2), 0));
    assert!(error["code"].as_str().unwrap().starts_with('K'), "{error}");

    let model = served.ask(&Ask::get("/model").bearer(&reader)).expect_json(200);
    assert_eq!(model["text"], app("tasks"));
}

#[test]
fn texts_that_are_no_models_are_refused() {
    let served = Served::open(&app("tasks"));
    let outcome = |document: &Value| served.ask(&Ask::post("/model", document)).outcome();
    assert_eq!(outcome(&json!({})), "422 invalid");
    assert_eq!(outcome(&json!({"text": 7})), "422 invalid");
    assert_eq!(outcome(&json!({"text": "", "more": 1})), "422 invalid");
    assert_eq!(outcome(&json!({"text": "[".repeat(30_000)})), "200");
}

#[test]
fn administrators_read_the_rows_of_entities_of_their_tenant() {
    let served = Served::closed(&app("oncall"));
    let (admin, writer) = (served.token(Role::Admin, None), served.token(Role::Writer, None));
    let contact = json!({"name": "Ada"});
    let created = Ask::post("/contacts", &contact).bearer(&admin).tenant("acme");
    let created = served.ask(&created).expect_json(201);
    let path = format!("/model/rows?entity=contact&id={}", created["id"].as_str().unwrap());
    let rows = served.ask(&Ask::get(&path).bearer(&admin).tenant("acme")).expect_json(200);
    let rows = rows["items"].as_array().unwrap();
    assert_eq!(rows[0]["what"], "entity");
    assert!(rows.len() > 1 && rows.iter().all(|row| row["is_stored"] == true), "{rows:?}");

    let outcome = |ask: Ask| served.ask(&ask).outcome();
    let other = Ask::get(&path).bearer(&admin).tenant("globex");
    assert_eq!(outcome(other), "404 not-found");
    let lesser = Ask::get(&path).bearer(&writer).tenant("acme");
    assert_eq!(outcome(lesser), "403 forbidden");
    let ask = |path: &str| outcome(Ask::get(path).bearer(&admin).tenant("acme"));
    assert_eq!(ask("/model/rows?entity=contact"), "400 bad-parameter");
    assert_eq!(ask("/model/rows?entity=nobody&id=1"), "400 bad-parameter");
    assert_eq!(ask("/model/rows?entity=contact&id=1&x=1"), "400 bad-parameter");
}

#[test]
fn the_console_is_one_page_under_a_strict_policy() {
    let served = Served::closed(&app("tasks"));
    let page = served.ask(&Ask::get("/console"));
    assert_eq!(page.outcome(), "200");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    // The page ends its script and style itself: nothing in them does.
    assert_eq!(page.text().matches("</script>").count(), 1);
    assert_eq!(page.text().matches("</style>").count(), 1);
    // As it is sent, compressed, it is about a third of this: the test in a browser limits that.
    assert!(page.text().len() < 110_000, "{}", page.text().len());
}
