//! Requests with an `Idempotency-Key` are applied once.

use std::sync::Barrier;

use keyloom_server::Role;
use serde_json::json;

use super::ask::Ask;
use super::served::{Door, Served, Setup, app, engine};

fn with_key(ask: Ask, key: &str) -> Ask {
    ask.header("Idempotency-Key", key)
}

#[test]
fn a_repeated_request_gets_the_first_response() {
    let served = Served::open(&app("kitchen"));
    let create = with_key(Ask::post("/recipes", &json!({"name": "soup"})), "k1");
    let first = served.ask(&create);
    let recipe = first.expect_json(201);
    assert_eq!(first.header("idempotency-replayed"), None);
    // Later changes do not affect the repeated response.
    let path = format!("/recipes/{}", recipe["id"].as_str().unwrap());
    served.ask(&Ask::patch(&path, &json!({"name": "stew"}))).expect_json(200);
    let again = served.ask(&create);
    assert_eq!(again.expect_json(201), recipe);
    assert_eq!((again.tag(), again.header("location")), (first.tag(), first.header("location")));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let all = served.ask(&Ask::get("/recipes")).expect_json(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 1);

    let delete = with_key(Ask::delete(&path), "k2");
    assert_eq!(served.ask(&delete).status, 204);
    assert_eq!(served.ask(&delete).status, 204);
    assert_eq!(served.ask(&Ask::delete(&path)).outcome(), "404 not-found");
    assert_eq!(served.ask(&create).expect_json(201), recipe);
}

#[test]
fn a_key_is_for_one_request_of_one_token() {
    let served = Served::closed(&app("kitchen"));
    let (ours, theirs) = (served.token(Role::Writer, None), served.token(Role::Writer, None));
    let create = |name: &str| with_key(Ask::post("/recipes", &json!({"name": name})), "key");
    served.ask(&create("soup").bearer(&ours)).expect_json(201);
    assert_eq!(served.ask(&create("stew").bearer(&ours)).outcome(), "409 key-reused");
    let other = served.ask(&create("stew").bearer(&theirs));
    assert_eq!(other.header("idempotency-replayed"), None);
    other.expect_json(201);
}

#[test]
fn a_failed_request_can_be_retried_with_its_key() {
    let served = Served::open(&app("kitchen"));
    let create = with_key(Ask::post("/categories", &json!({"name": "a", "shop_order": 1})), "key");
    let other = served.ask(&Ask::post("/categories", &json!({"name": "a", "shop_order": 2})));
    let other = format!("/categories/{}", other.expect_json(201)["id"].as_str().unwrap());
    assert_eq!(served.ask(&create).outcome(), "409 taken");
    assert_eq!(served.ask(&Ask::delete(&other)).status, 204);
    served.ask(&create).expect_json(201);
}

#[test]
fn transactions_accept_keys_and_batches_do_not() {
    let served = Served::open(&app("kitchen"));
    let change = json!({"create": "recipe", "document": {"name": "soup"}});
    let transaction = with_key(Ask::post("/transaction", &json!({"changes": [change]})), "key");
    let first = served.ask(&transaction).expect_json(200);
    assert_eq!(served.ask(&transaction).expect_json(200), first);
    let batch = with_key(Ask::post("/batch", &json!({"requests": [change]})), "other");
    assert_eq!(served.ask(&batch).outcome(), "400 bad-header");
}

#[test]
fn a_put_that_must_create_can_be_repeated_too() {
    let model = "[entity.team]\nid = \"given\"\nfields.name = \"text\"\n";
    let served = Served::open(model);
    let put = Ask::put("/teams/a", &json!({"name": "x"})).header("If-None-Match", "*");
    let put = with_key(put, "key");
    let first = served.ask(&put).expect_json(201);
    assert_eq!(served.ask(&put).expect_json(201), first);
}

#[test]
fn concurrent_requests_with_one_key_are_applied_once() {
    let served = Served::start(&app("kitchen"), Setup { store: engine, ..Setup::new(Door::Open) });
    let create = with_key(Ask::post("/recipes", &json!({"name": "soup"})), "key");
    let barrier = Barrier::new(16);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = || {
            barrier.wait();
            served.ask(&create).expect_json(201)
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    let all = served.ask(&Ask::get("/recipes")).expect_json(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 1);
}

#[test]
fn invalid_keys_are_rejected() {
    let served = Served::open(&app("kitchen"));
    let create = Ask::post("/recipes", &json!({"name": "soup"}));
    for key in ["", &"x".repeat(201)] {
        let asked = with_key(create.clone(), key);
        assert_eq!(served.ask(&asked).outcome(), "400 bad-header", "{key:?}");
    }
    let twice = with_key(with_key(create, "a"), "b");
    assert_eq!(served.ask(&twice).outcome(), "400 bad-header");
}
