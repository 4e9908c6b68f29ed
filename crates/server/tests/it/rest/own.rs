//! Routes that an application adds, and operations of its model that it closes.

use std::sync::Arc;

use keyloom::{Db, SystemEntropy};
use keyloom_server::{
    Kind, OwnAnswer, OwnReply, OwnRequest, OwnRoute, OwnShape, Problem, Rest, RestOptions, Role,
    Tokens,
};
use keyloom_store::MemoryStore;
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::json;

use super::ask::Ask;
use super::log;
use super::served::{Door, Served, Setup, app};

fn route(name: &'static str, path: &'static str, role: Option<Role>, answer: OwnShape) -> OwnRoute {
    let handler = |request: OwnRequest| -> OwnAnswer {
        Box::pin(async move {
            if request.value(0) == "late" {
                return Err(Problem::new(Kind::WrongState, "It is too late."));
            }
            let told = request.header("x-told").unwrap_or("nothing").to_owned();
            let headers = vec![("x-said", told)];
            Ok(OwnReply { status: 202, headers, ..OwnReply::new("\"<said>\"") })
        })
    };
    let (method, summary) = ("GET", "Says something.");
    OwnRoute { name, method, path, summary, role, answer, handler: Arc::new(handler) }
}

fn served() -> Served {
    let own = vec![
        route("for_anybody", "/said/{what}", None, OwnShape::Html),
        route("for_writers", "/written/{what}", Some(Role::Writer), OwnShape::Json("true")),
    ];
    let closed = &["change_task", "create_task"];
    Served::start(&app("tasks"), Setup { own, closed, ..Setup::new(Door::Closed) })
}

#[test]
fn a_route_declares_its_role_and_its_response() {
    let served = served();
    let said = served.ask(&Ask::get("/said/x").header("X-Told", "this"));
    assert_eq!((said.status, said.text()), (202, "\"<said>\""), "without a token");
    assert_eq!(said.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(said.header("x-said"), Some("this"));
    assert_eq!(served.ask(&Ask::get("/said/late")).outcome(), "409 wrong-state");
    assert_eq!(served.ask(&Ask::get("/written/x")).status, 401);
    let (reader, writer) = (served.token(Role::Reader, None), served.token(Role::Writer, None));
    assert_eq!(served.ask(&Ask::get("/written/x").bearer(&reader)).status, 403);
    let written = served.ask(&Ask::get("/written/x").bearer(&writer));
    assert_eq!((written.status, written.header("content-type")), (202, Some("application/json")));
    let document = served.ask(&Ask::get("/openapi.json")).json();
    let answer = &document["paths"]["/said/{what}"]["get"]["responses"]["200"]["content"];
    assert!(answer["text/html"].is_object(), "{answer}");
}

#[test]
fn secrets_in_paths_of_public_routes_are_not_logged() {
    let served = served();
    for ask in
        [Ask::get("/said/hush8"), Ask::new("PUT", "/said/hush8"), Ask::get("/said/hush8/hush8")]
    {
        served.ask(&ask);
    }
    served.ask(&Ask::get("/written/aloud"));
    let lines = log::lines().concat();
    assert!(lines.contains("/said/…") && lines.contains("/written/aloud"), "{lines}");
    assert!(!lines.contains("hush8"), "{lines}");
}

#[test]
fn no_request_runs_a_closed_operation() {
    let served = served();
    let writer = served.token(Role::Writer, None);
    let ask = |ask: Ask| served.ask(&ask.bearer(&writer)).outcome();
    assert_eq!(ask(Ask::post("/tasks", &json!({ "name": "x" }))), "405 bad-method");
    assert_eq!(ask(Ask::patch("/tasks/1", &json!({ "name": "x" }))), "405 bad-method");
    let create = json!({ "create": "task", "document": { "name": "x" } });
    let update = json!({ "update": "task", "id": "1", "document": { "name": "x" } });
    for part in [create, update] {
        let changes = json!({ "changes": [part] });
        assert_eq!(ask(Ask::post("/transaction", &changes)), "403 forbidden");
        let requests = json!({ "requests": [part] });
        assert_eq!(ask(Ask::post("/batch", &requests)), "403 forbidden");
    }
    assert_eq!(ask(Ask::delete("/tasks/1")), "404 not-found", "what is not closed is done");
    assert!(served.routes.iter().all(|route| route.name != "create_task"));
}

#[test]
fn only_existing_operations_can_be_closed() {
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let db = block_on(Db::open(&app("tasks"), store.clone())).unwrap();
    for closed in [&["change_tsak"][..], &["openapi"]] {
        let closed: &'static [&'static str] = closed.to_vec().leak();
        let tokens = Tokens::open(store.clone(), "keyloom", clock.clone(), Arc::new(SystemEntropy));
        let options = RestOptions { closed, ..RestOptions::default() };
        let error = Rest::new(db.clone(), block_on(tokens).unwrap(), vec![], options).unwrap_err();
        assert!(error.contains("no such operation"), "{error}");
    }
}

#[test]
fn two_operations_with_one_path_are_refused() {
    let model = r#"
        [entity.task]
        fields.done = "bool = false"
        count.open = {}
        list.all = { path = "/tasks/counts/open" }
    "#;
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let db = block_on(Db::open(model, store.clone())).unwrap();
    let tokens = Tokens::open(store, "keyloom", clock, Arc::new(SystemEntropy));
    let tokens = block_on(tokens).unwrap();
    let error = Rest::new(db, tokens, vec![], RestOptions::default()).unwrap_err();
    assert!(error.contains("are both `GET /tasks/counts/open`"), "{error}");
}

#[test]
fn a_model_without_a_page_has_a_public_welcome_page() {
    for name in ["tasks", "comments", "kitchen", "oncall"] {
        let served = Served::start(&app(name), Setup::new(Door::Closed));
        let page = served.ask(&Ask::get("/"));
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8"))
        );
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        let model = keyloom_model::check(&app(name)).unwrap();
        let entities =
            model.entities().map(|(_, entity)| format!("href=\"/docs#{}\"", entity.name));
        for part in entities.chain(["href=\"/openapi.json\"".to_owned(), "curl http".to_owned()]) {
            assert!(page.text().contains(&part), "{name} lacks {part}");
        }
    }
}
