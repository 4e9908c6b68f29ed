//! `keyloom token`, and tokens in `keyloom serve`.

use std::path::Path;
use std::sync::Arc;

use keyloom::{Db, SystemClock, SystemEntropy};
use keyloom_server::{Role, TokenRequest, Tokens};
use keyloom_store::{Engine, Options};
use pollster::block_on;
use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Served, Serving, app, fresh, keyloom, output, scratch};

/// A path for a new directory, and the model of an application.
fn places(name: &str) -> (String, String) {
    let directory = scratch(name);
    let _ = std::fs::remove_dir_all(&directory);
    (directory.to_str().unwrap().to_owned(), app("oncall"))
}

#[test]
fn tokens_are_created_listed_and_revoked() {
    let (data, _) = places("tokens");
    let create = ["token", "create", "--data", &data, "--role", "writer", "--name", "shop"];
    let (success, out, err) = output(&create);
    assert!(success, "{err}");
    let mut lines = out.lines();
    let (token, hint) = (lines.next().unwrap(), lines.next().unwrap());
    let id = token.split('_').nth(1).unwrap();
    assert!(token.starts_with("kl_") && hint.contains("not shown again") && hint.contains(id));
    let bound = ["token", "create", "--data", &data, "--role", "reader", "--tenant", "acme"];
    let bound = [&bound[..], &["--expires", "2030-01-01T00:00:00Z", "--json"]].concat();
    let (_, out, _) = output(&bound);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&shown["role"], &shown["tenant"]), (&json!("reader"), &json!("acme")));
    assert!(shown["token"].as_str().unwrap().starts_with("kl_"), "{shown}");
    let (_, out, _) = output(&["token", "list", "--data", &data]);
    for part in [id, "writer", "shop", "reader", "acme", "2030-01-01", "never", "(all)"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (_, out, _) = output(&["token", "list", "--data", &data, "--json"]);
    let listed: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|token| token.get("token").is_none()), "{out}");
    let (success, out, _) = output(&["token", "revoke", "--data", &data, id]);
    assert!(success && out == "Revoked.\n", "{out}");
    let (success, _, err) = output(&["token", "revoke", "--data", &data, id]);
    assert!(!success && err.contains("no token with the id"), "{err}");
    let _ = std::fs::remove_dir_all(&data);
}

#[test]
fn invalid_tokens_are_refused_and_nothing_is_created() {
    let (data, _) = places("no-tokens");
    let cases: &[(&[&str], &str)] = &[
        (&["create", "--data", &data], "--role <ROLE>"),
        (
            &["create", "--data", &data, "--role", "god"],
            "possible values: user, reader, writer, admin",
        ),
        (
            &["create", "--data", &data, "--role", "admin", "--tenant", "a"],
            "An admin token cannot be limited to a tenant",
        ),
        (
            &["create", "--data", &data, "--role", "reader", "--expires", "soon"],
            "invalid time `soon`",
        ),
        (&["create", "--data", &data, "--role", "reader", "--tenant", ""], "1 to 256 characters"),
        (&["list", "--data", &data], "does not contain a Keyloom database"),
        (&["revoke", "--data", &data, "x"], "does not contain a Keyloom database"),
        (&["revoke", "--data", &data], "<ID>"),
    ];
    for (arguments, expected) in cases {
        let (success, _, err) = output(&[&["token"], *arguments].concat());
        assert!(!success && err.contains(expected), "{arguments:?}: {err}");
        assert!(!std::path::Path::new(&data).exists(), "{arguments:?}");
    }
}

#[test]
fn remote_connections_need_tokens() {
    let (data, model) = places("everywhere");
    let everywhere = ["--data", &data, "--listen", "0.0.0.0:0"];
    let (success, _, err) = output(&[&["serve", &model], &everywhere[..]].concat());
    assert!(!success && err.contains("keyloom token create"), "{err}");
    let (_, out, _) =
        output(&["token", "create", "--data", &data, "--role", "writer", "--tenant", "a"]);
    let token = out.lines().next().unwrap();
    let mut serving = Serving::start(&model, &everywhere);
    let url = serving.url.replace("0.0.0.0", "127.0.0.1");
    let contact = json!({"name": "Ann"});
    let mut stranger = Http::connect(&url, "");
    assert_eq!(stranger.ask("POST", "/contacts", &contact).unwrap().0, 401);
    let mut known = Http::connect(&url, &format!("Authorization: Bearer {token}\r\n"));
    assert_eq!(known.ask("POST", "/contacts", &contact).unwrap().0, 201);
    assert!(output(&["token", "list", "--data", &data]).1.contains("writer"));
    assert!(serving.stop());
    let _ = std::fs::remove_dir_all(&data);
}

#[test]
fn a_server_prints_what_to_try_when_it_starts() {
    let (data, model) = places("greeting");
    let serving = Serving::start(&model, &["--data", &data]);
    for part in ["No tokens configured: only loopback requests", "curl ", "/contacts", "/docs"] {
        assert!(serving.greeting.contains(part), "{part}: {}", serving.greeting);
    }
    drop(serving);
    let _ = std::fs::remove_dir_all(&data);
}

/// What version 0.1 left in DynamoDB: two databases, and one table with the tokens of both. Returns an
/// admin token.
fn shared_tokens(directory: &Path, model: &str) -> String {
    let model = std::fs::read_to_string(model).unwrap();
    let engine = Arc::new(Engine::open(directory, Options::default()).unwrap());
    for table in ["shop", "blog"] {
        let options = keyloom::Options { table: table.to_owned(), ..keyloom::Options::default() };
        block_on(Db::open_with(&model, engine.clone(), options)).unwrap();
    }
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    let tokens = block_on(Tokens::open(engine, "keyloom", clock, entropy)).unwrap();
    let request = TokenRequest {
        role: Role::Admin,
        user: None,
        tenant: None,
        name: "of both".to_owned(),
        expires: None,
    };
    block_on(tokens.create(request)).unwrap().1
}

/// Serves a table in DynamoDB, with made-up AWS access keys.
fn serve(model: &str, table: &[&str]) -> Serving {
    let mut command = keyloom();
    command.args(["serve", model, "--log", "nothing", "--listen", "127.0.0.1:0"]).args(table);
    command.env("AWS_ACCESS_KEY_ID", "made").env("AWS_SECRET_ACCESS_KEY", "up");
    Serving::spawn(command)
}

/// Tokens of one database once opened all others of the account. A server that ignores them now would
/// need no authentication.
#[test]
fn databases_in_dynamodb_have_tokens_of_their_own() {
    let (directory, model) = (fresh("tokens-by-table"), app("oncall"));
    let old = shared_tokens(&directory, &model);
    let endpoint = Served::on(&directory);
    let of = |table: &'static str| ["--dynamodb", table, "--endpoint-url", endpoint.url.as_str()];
    let refused = |command: &[&str]| {
        let (success, _, err) = output(&[command, &of("shop")[..]].concat());
        assert!(!success && err.contains("keyloom token adopt --dynamodb shop"), "{err}");
    };
    // Also after commands that need tokens: none of them prepares a start without.
    for _ in 0..2 {
        refused(&["serve", &model, "--listen", "127.0.0.1:0"]);
        refused(&["token", "list"]);
    }
    let (success, out, err) = output(&[&["token", "adopt"], &of("shop")[..]].concat());
    assert!(success && out.starts_with("Copied 1 tokens."), "{out}{err}");
    let (_, out, _) = output(&[&["token", "adopt"], &of("shop")[..]].concat());
    assert!(out.starts_with("Copied 0 tokens."), "{out}");
    // The other one starts with a new token instead.
    let (success, out, err) =
        output(&[&["token", "create", "--role", "admin"], &of("blog")[..]].concat());
    assert!(success, "{err}");
    let new = out.lines().next().unwrap().to_owned();
    for (table, token, other) in [("shop", &old, &new), ("blog", &new, &old)] {
        let mut serving = serve(&model, &of(table));
        let status = |token: &str| {
            let mut client = Http::connect(&serving.url, token);
            client.ask("GET", "/tokens", &Value::Null).unwrap().0
        };
        assert_eq!(status(""), 401, "{table}");
        assert_eq!(status(&format!("Authorization: Bearer {token}\r\n")), 200, "{table}");
        assert_eq!(status(&format!("Authorization: Bearer {other}\r\n")), 401, "{table}");
        assert!(serving.stop());
    }
    // A new database needs no decision.
    let mut serving = serve(&model, &of("fresh"));
    assert!(serving.greeting.contains("No tokens configured"), "{}", serving.greeting);
    assert!(serving.stop());
}
