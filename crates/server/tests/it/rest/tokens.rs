//! Tokens: created over HTTP, shown once, stored as hashes, revoked, expired; and servers without any.

use keyloom::{Item, Value as Stored};
use keyloom_server::{Role, TokenRequest};
use keyloom_store::{Put, Scan, TableName};
use pollster::block_on;
use serde_json::{Value, json};

use super::ask::Ask;
use super::log;
use super::served::{Served, app};

fn rows(served: &Served) -> Vec<Item> {
    let table = TableName::new("keyloom.tokens").unwrap();
    block_on(served.store.scan(Scan::new(&table))).unwrap().items
}

fn made(served: &Served, admin: &str, request: &Value) -> Value {
    served.ask(&Ask::post("/tokens", request).bearer(admin)).expect_json(201)
}

#[test]
fn a_token_is_shown_once_and_its_secret_is_not_stored() {
    let served = Served::closed(&app("oncall"));
    let admin = served.token(Role::Admin, None);
    let request = json!({"name": "shop", "role": "writer", "tenant": "acme",
        "expires": "2030-01-01T00:00:00Z"});
    let answer = served.ask(&Ask::post("/tokens", &request).bearer(&admin));
    let shown = answer.expect_json(201);
    let (id, text) = (shown["id"].as_str().unwrap(), shown["token"].as_str().unwrap());
    assert_eq!(answer.header("location"), Some(format!("/tokens/{id}").as_str()));
    for (name, value) in request.as_object().unwrap() {
        let is_time = name == "expires";
        assert!(is_time || shown[name] == *value, "{shown}");
    }
    let secret = text.rsplit('_').next().unwrap();
    assert_eq!(text, format!("kl_{id}_{secret}"));
    let listed = served.ask(&Ask::get("/tokens").bearer(&admin));
    assert_eq!(listed.expect_json(200)["items"].as_array().unwrap().len(), 3);
    assert!(listed.text().contains(id) && !listed.text().contains(secret));
    for row in rows(&served) {
        assert!(matches!(row.get("hash"), Some(Stored::B(hash)) if hash.len() == 32), "{row:?}");
        let has_secret = format!("{row:?}").contains(secret);
        assert!(!has_secret, "{row:?}");
    }
    let lines = log::lines().join("\n");
    assert!(!lines.contains(secret) && lines.contains("create_token"), "{lines}");
}

#[test]
fn a_token_is_valid_until_it_is_revoked_or_expires() {
    let served = Served::closed(&app("tasks"));
    let admin = served.token(Role::Admin, None);
    let soon = keyloom_store::Time(keyloom_testkit::ManualClock::START.0 + 1000);
    let request = TokenRequest {
        role: Role::Reader,
        user: None,
        tenant: None,
        name: String::new(),
        expires: Some(soon),
    };
    let (_, expiring) = block_on(served.tokens.create(request)).unwrap();
    let shown = made(&served, &admin, &json!({"role": "reader"}));
    let token = shown["token"].as_str().unwrap();
    let status = |token: &str| served.ask(&Ask::get("/tasks").bearer(token)).status;
    assert_eq!((status(&expiring), status(token)), (200, 200));
    served.rig.clock.advance_ms(999);
    assert_eq!(status(&expiring), 200);
    served.rig.clock.advance_ms(1);
    assert_eq!(status(&expiring), 401);
    let revoke = Ask::delete(&format!("/tokens/{}", shown["id"].as_str().unwrap())).bearer(&admin);
    assert_eq!(served.ask(&revoke).status, 204);
    assert_eq!(status(token), 401);
    assert_eq!(served.ask(&revoke).outcome(), "404 not-found");
    for id in ["x".to_owned(), "y".repeat(5000), "%00".to_owned(), "a%2Fb".to_owned()] {
        let ask = Ask::delete(&format!("/tokens/{id}")).bearer(&admin);
        assert_eq!(served.ask(&ask).outcome(), "404 not-found", "{id:.20}");
    }
}

#[test]
fn text_that_only_looks_like_a_token_is_rejected() {
    let served = Served::closed(&app("tasks"));
    let token = served.token(Role::Reader, None);
    let flipped = match token.strip_suffix('a') {
        Some(rest) => format!("{rest}b"),
        None => format!("{}a", &token[..token.len() - 1]),
    };
    let (id, _) = token.rsplit_once('_').unwrap();
    let cases = [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Basic dXNlcjpwYXNz".to_owned(),
        token.clone(),
        format!("Bearer {flipped}"),
        format!("Bearer {id}"),
        format!("Bearer {id}_"),
        format!("Bearer {}", &token[..token.len() - 1]),
        format!("Bearer {token}a"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer {token} {token}"),
        format!("Bearer {}", "k".repeat(9000)),
        "Bearer kl_\u{e9}_\u{e9}".to_owned(),
    ];
    for given in cases {
        let answer = served.ask(&Ask::get("/tasks").header("Authorization", &given));
        assert_eq!(answer.outcome(), "401 unauthorized", "{given:.80}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    let twice = Ask::get("/tasks").bearer(&token).bearer(&token);
    assert_eq!(served.ask(&twice).outcome(), "401 unauthorized");
    for scheme in ["Bearer", "bearer", "BEARER "] {
        let ask = Ask::get("/tasks").header("Authorization", &format!("{scheme} {token}"));
        assert_eq!(served.ask(&ask).status, 200, "{scheme}");
    }
}

#[test]
fn an_invalid_token_request_is_rejected_with_a_reason() {
    let served = Served::closed(&app("oncall"));
    let admin = served.token(Role::Admin, None);
    let cases = [
        (json!({}), "`role` must be one of"),
        (json!({"role": "god"}), "`role` must be one of"),
        (json!({"role": 1}), "`role` must be a string"),
        (
            json!({"role": "admin", "tenant": "acme"}),
            "An admin token cannot be limited to a tenant",
        ),
        (json!({"role": "reader", "tenant": ""}), "`tenant` must have 1 to 256"),
        (json!({"role": "reader", "name": "n".repeat(257)}), "`name` must have at most 256"),
        (json!({"role": "reader", "expires": "tomorrow"}), "`expires` must be a time such as"),
        (json!({"role": "reader", "expires": 1}), "`expires` must be a string"),
        (json!({"role": "reader", "hash": "x"}), "Unknown member `hash`"),
    ];
    for (request, expected) in cases {
        let answer = served.ask(&Ask::post("/tokens", &request).bearer(&admin));
        assert_eq!(answer.outcome(), "422 invalid", "{request}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(expected), "{request}: {detail}");
    }
    assert_eq!(rows(&served).len(), 2);
}

#[test]
fn from_the_first_token_on_requests_need_one_even_after_it_is_revoked() {
    let served = Served::open(&app("tasks"));
    let anybody = |ask: Ask| served.ask(&ask).status;
    assert_eq!(anybody(Ask::get("/tasks")), 200);
    let made = served.ask(&Ask::post("/tokens", &json!({"role": "admin"}))).expect_json(201);
    assert_eq!(anybody(Ask::get("/tasks")), 401);
    let path = format!("/tokens/{}", made["id"].as_str().unwrap());
    let revoke = Ask::delete(&path).bearer(made["token"].as_str().unwrap());
    assert_eq!(anybody(revoke), 204);
    assert_eq!(anybody(Ask::get("/tasks")), 401);
    assert_eq!(anybody(Ask::get("/healthz")), 200);
}

#[test]
fn a_damaged_token_admits_nobody_and_still_counts() {
    let served = Served::closed(&app("tasks"));
    let table = TableName::new("keyloom.tokens").unwrap();
    for row in rows(&served) {
        let mut damaged = row.clone();
        damaged.insert("role", "emperor");
        block_on(served.store.put(Put::new(&table, damaged))).unwrap();
    }
    let clock = std::sync::Arc::new(served.rig.clock.clone());
    let entropy = std::sync::Arc::new(keyloom::SystemEntropy);
    let again = keyloom_server::Tokens::open(served.store.clone(), "keyloom", clock, entropy);
    assert!(!block_on(again).unwrap().is_open());
}
