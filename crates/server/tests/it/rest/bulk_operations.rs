//! `PATCH` and `DELETE` of a list: changes of all its entities, which run in the background.

use keyloom::events::Next;
use keyloom_server::Role;
use pollster::block_on;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::served::{Door, Served, Setup};

const MODEL: &str = r#"
[entity.item]
id = "given"
tenant = "owner"
filters = ["rank"]
fields.owner = "text"
fields.group = "enum(a, b)"
fields.rank = "int 0..100"
fields.labels = "tags"
fields.note = "any?"
unique = ["rank"]
list.all = { path = "/items", order = "rank" }
list.of_group = { path = "/items", by = "group", order = "rank" }
list.in_group = { path = "/groups/{group}/items", by = "group" }
"#;

fn fill(served: &Served, tenant: &str) {
    let db = served.db.tenant(tenant);
    for rank in 0..20 {
        let group = if rank % 4 == 0 { "a" } else { "b" };
        let labels = json!({ "odd": (rank % 2).to_string() });
        let item = json!({
            "id": format!("i{rank}"), "group": group, "rank": rank, "labels": labels,
        });
        block_on(db.create("item", &item)).unwrap();
    }
}

fn served(closed: &'static [&'static str]) -> Served {
    let served = Served::start(MODEL, Setup { closed, ..Setup::new(Door::Open) });
    fill(&served, "ann");
    fill(&served, "bob");
    served
}

fn of(ask: Ask) -> Ask {
    ask.tenant("ann")
}

/// Starts an operation; returns it, and its path.
fn start(served: &Served, ask: &Ask) -> (Json, String) {
    let answer = served.ask(ask);
    let operation = answer.expect_json(202);
    let path = answer.header("location").unwrap().to_owned();
    assert_eq!(path, format!("/operations/{}", operation["id"].as_str().unwrap()));
    (operation, path)
}

fn run(served: &Served) {
    while block_on(served.db.advance_bulk()).unwrap() == Next::Now {}
}

fn count(served: &Served, tenant: &str, group: &str) -> usize {
    let ask = Ask::get(&format!("/items?group={group}&limit=100")).tenant(tenant);
    served.ask(&ask).expect_json(200)["items"].as_array().unwrap().len()
}

#[test]
fn all_entities_of_a_query_are_changed_and_the_progress_is_shown() {
    let served = served(&[]);
    let patch = json!({ "group": "b", "labels": { "moved": "yes" } });
    let (started, path) = start(&served, &of(Ask::patch("/items?group=a", &patch)));
    assert_eq!((&started["kind"], &started["entity"]), (&json!("update"), &json!("item")));
    assert_eq!((&started["state"], &started["changed"]), (&json!("collecting"), &json!(0)));
    assert_eq!(count(&served, "ann", "a"), 5, "nothing has changed yet");
    run(&served);
    let done = served.ask(&of(Ask::get(&path))).expect_json(200);
    assert_eq!((&done["state"], &done["matched"]), (&json!("done"), &json!(5)));
    assert_eq!((&done["changed"], &done["failed"]), (&json!(5), &json!(0)));
    assert!(done["started"].is_string() && done["ended"].is_string(), "{done}");
    assert_eq!((count(&served, "ann", "a"), count(&served, "ann", "b")), (0, 20));
    assert_eq!(count(&served, "bob", "a"), 5, "another tenant's");

    let filtered = "/items?rank=%3E=10&rank=%3C16&tag=odd:1";
    let (_, path) = start(&served, &of(Ask::delete(filtered)));
    run(&served);
    let done = served.ask(&of(Ask::get(&path))).expect_json(200);
    assert_eq!((&done["kind"], &done["changed"]), (&json!("delete"), &json!(3)));
    assert_eq!(count(&served, "ann", "b"), 17);
    let (_, path) = start(&served, &of(Ask::delete("/groups/b/items")));
    run(&served);
    let done = served.ask(&of(Ask::get(&path))).expect_json(200);
    assert_eq!(done["changed"], 17, "{done}");
}

#[test]
fn refused_changes_are_shown_with_their_problem() {
    let served = served(&[]);
    let (_, path) = start(&served, &of(Ask::patch("/items?group=a", &json!({ "rank": 50 }))));
    run(&served);
    let done = served.ask(&of(Ask::get(&path))).expect_json(200);
    assert_eq!((&done["changed"], &done["failed"]), (&json!(1), &json!(4)));
    let failures = done["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 4);
    assert_eq!(failures[0]["id"], "i12", "{done}");
    assert!(failures[0]["problem"].as_str().unwrap().contains("unique"), "{done}");
}

#[test]
fn a_request_without_conditions_must_say_so() {
    let served = served(&[]);
    for ask in [Ask::delete("/items"), Ask::delete("/items?$all=false")] {
        let refused = served.ask(&of(ask));
        assert_eq!(refused.outcome(), "400 bad-parameter");
        assert!(refused.text().contains("`$all=true`"), "{}", refused.text());
    }
    let (_, path) = start(&served, &of(Ask::delete("/items?$all=true")));
    run(&served);
    assert_eq!(served.ask(&of(Ask::get(&path))).expect_json(200)["changed"], 20);
    assert_eq!(count(&served, "bob", "b"), 15);
}

/// A list within a list, and so on.
fn nested(depth: usize) -> Json {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn invalid_requests_start_nothing() {
    let served = served(&[]);
    let empty = json!({});
    let asks = [
        (Ask::delete("/items?color=red"), "400 bad-parameter"),
        (Ask::delete("/items?group=z"), "400 bad-parameter"),
        (Ask::delete("/items?group=a&limit=5"), "400 bad-parameter"),
        (Ask::delete("/items?group=a&$all=maybe"), "400 bad-parameter"),
        (Ask::patch("/items?group=a", &json!({ "color": "red" })), "422 invalid"),
        (Ask::patch("/items?group=a", &json!({ "version": "x" })), "422 invalid"),
        (Ask::patch("/items?group=a", &json!({ "note": [{ "a": { "": 1 } }] })), "422 invalid"),
        (Ask::patch("/items?group=a", &json!({ "labels": { "": "x" } })), "422 invalid"),
        (Ask::patch("/items?group=a", &json!({ "note": nested(31) })), "422 invalid"),
        (Ask::patch("/items?group=a", &json!([])), "400 bad-document"),
        (Ask::new("PATCH", "/items?group=a"), "415 bad-media-type"),
        (Ask::patch("/operations/x", &empty), "405 bad-method"),
        (Ask::get("/operations/x"), "404 not-found"),
        (Ask::delete("/operations/01k0g5t4d8c6w3b1n9r7q2z5mx"), "404 not-found"),
        (Ask::get("/operations?limit=0"), "400 bad-parameter"),
        (Ask::get("/operations?color=red"), "400 bad-parameter"),
    ];
    for (ask, expected) in asks {
        let shown = format!("{} {}", ask.method, ask.path);
        assert_eq!(served.ask(&of(ask)).outcome(), expected, "{shown}");
    }
    assert_eq!(served.ask(&Ask::delete("/items?group=a")).outcome(), "400 tenant-needed");
    let all = served.ask(&of(Ask::get("/operations"))).expect_json(200);
    assert_eq!(all, json!({ "items": [] }));
}

/// As a patch of one entity can.
#[test]
fn a_patch_can_remove_what_no_entity_has() {
    let served = served(&[]);
    let patch = json!({ "labels": { "": null, "odd": null }, "note": "x" });
    served.ask(&of(Ask::patch("/items/i0", &patch))).expect_json(200);
    let (_, path) = start(&served, &of(Ask::patch("/items?group=a", &patch)));
    run(&served);
    let done = served.ask(&of(Ask::get(&path))).expect_json(200);
    assert_eq!((&done["changed"], &done["unchanged"]), (&json!(4), &json!(1)), "{done}");
}

#[test]
fn an_operation_can_be_canceled_once() {
    let served = served(&[]);
    let (_, path) = start(&served, &of(Ask::delete("/items?group=b")));
    let canceled = served.ask(&of(Ask::delete(&path))).expect_json(200);
    assert_eq!(canceled["state"], "canceled");
    assert_eq!(served.ask(&of(Ask::delete(&path))).outcome(), "409 wrong-state");
    run(&served);
    assert_eq!(count(&served, "ann", "b"), 15);
    assert_eq!(served.ask(&of(Ask::get(&path))).expect_json(200), canceled);
}

#[test]
fn a_key_starts_one_operation() {
    let served = served(&[]);
    let patch = json!({ "rank": { "$add": 50 } });
    let ask = of(Ask::patch("/items?group=a", &patch)).header("Idempotency-Key", "k");
    let (first, path) = start(&served, &ask);
    run(&served);
    let again = served.ask(&ask);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.header("location"), Some(path.as_str()));
    let again = again.expect_json(202);
    assert_eq!((&again["id"], &again["changed"]), (&first["id"], &json!(5)));
    run(&served);
    let item = served.ask(&of(Ask::get("/items/i4"))).expect_json(200);
    assert_eq!(item["rank"], 54);
    let other = of(Ask::delete("/items?group=a")).header("Idempotency-Key", "k");
    assert_eq!(served.ask(&other).outcome(), "409 key-reused");
}

#[test]
fn operations_of_another_tenant_are_not_found() {
    let served = served(&[]);
    let mut paths = vec![];
    for _ in 0..3 {
        paths.push(start(&served, &of(Ask::delete("/items?group=b"))).1);
    }
    for ask in [Ask::get(&paths[0]), Ask::delete(&paths[0])] {
        assert_eq!(served.ask(&ask.clone().tenant("bob")).outcome(), "404 not-found");
        assert_eq!(served.ask(&ask).outcome(), "404 not-found", "without a tenant");
    }
    let list = |ask: Ask| served.ask(&ask).expect_json(200);
    assert_eq!(list(Ask::get("/operations").tenant("bob")), json!({ "items": [] }));
    let page = list(of(Ask::get("/operations?limit=2")));
    let shown: Vec<String> = ids(&page);
    assert_eq!(shown, [&paths[2], &paths[1]].map(|path| path["/operations/".len()..].to_owned()));
    let next = page["next"].as_str().unwrap();
    let rest = list(of(Ask::get(&format!("/operations?limit=2&cursor={next}"))));
    assert_eq!(ids(&rest), [paths[0]["/operations/".len()..].to_owned()]);
    assert!(rest["next"].is_null());
}

fn ids(page: &Json) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn readers_can_neither_start_nor_see_operations() {
    let served = Served::closed(MODEL);
    fill(&served, "ann");
    let reader = served.token(Role::Reader, Some("ann"));
    let writer = served.token(Role::Writer, Some("ann"));
    let asks = [Ask::delete("/items?group=a"), Ask::get("/operations")];
    for ask in asks {
        assert_eq!(served.ask(&ask.clone().bearer(&reader)).outcome(), "403 forbidden");
        assert!(served.ask(&ask.bearer(&writer)).status < 300);
    }
}

#[test]
fn a_closed_operation_is_closed_for_all_entities_too() {
    let shown = |served: &Served, ask: Ask| served.ask(&of(ask)).outcome();
    let patch = json!({ "rank": 1 });
    let without_change = served(&["change_item"]);
    assert_eq!(shown(&without_change, Ask::patch("/items?group=a", &patch)), "405 bad-method");
    let other = Ask::patch("/groups/a/items", &patch);
    assert_eq!(shown(&without_change, other), "405 bad-method");
    start(&without_change, &of(Ask::delete("/items?group=a")));
    let without_delete = served(&["delete_item"]);
    assert_eq!(shown(&without_delete, Ask::delete("/items?group=a")), "405 bad-method");
    start(&without_delete, &of(Ask::patch("/items?group=a", &patch)));
    let without_list = served(&["list_item_in_group"]);
    assert_eq!(shown(&without_list, Ask::delete("/groups/a/items")), "404 not-found");
    start(&without_list, &of(Ask::delete("/items?group=a")));
    let without_bulk = served(&["delete_all_item_all"]);
    assert_eq!(shown(&without_bulk, Ask::delete("/items?group=a")), "405 bad-method");
    assert_eq!(without_bulk.ask(&of(Ask::delete("/items/i1"))).status, 204);
}
