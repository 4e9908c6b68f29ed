//! `keyloom token`, and how `keyloom serve` goes by tokens.

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Serving, run, scratch};

fn told(arguments: &[&str]) -> (bool, String, String) {
    let output = run(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// A directory that is not there, and the model of an app.
fn places(name: &str) -> (String, String) {
    let directory = scratch(name);
    let _ = std::fs::remove_dir_all(&directory);
    let model = format!("{}/../../apps/oncall/model.toml", env!("CARGO_MANIFEST_DIR"));
    (directory.to_str().unwrap().to_owned(), model)
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let (data, _) = places("tokens");
    let create = ["token", "create", "--data", &data, "--role", "writer", "--name", "shop"];
    let (success, out, err) = told(&create);
    assert!(success, "{err}");
    let mut lines = out.lines();
    let (token, hint) = (lines.next().unwrap(), lines.next().unwrap());
    let id = token.split('_').nth(1).unwrap();
    assert!(token.starts_with("kl_") && hint.contains("not shown again") && hint.contains(id));
    let bound = ["token", "create", "--data", &data, "--role", "reader", "--tenant", "acme"];
    let bound = [&bound[..], &["--expires", "2030-01-01T00:00:00Z", "--json"]].concat();
    let (_, out, _) = told(&bound);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&shown["role"], &shown["tenant"]), (&json!("reader"), &json!("acme")));
    assert!(shown["token"].as_str().unwrap().starts_with("kl_"), "{shown}");
    let (_, out, _) = told(&["token", "list", "--data", &data]);
    for part in [id, "writer", "shop", "reader", "acme", "2030-01-01", "never", "(all)"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (_, out, _) = told(&["token", "list", "--data", &data, "--json"]);
    let listed: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|token| token.get("token").is_none()), "{out}");
    let (success, out, _) = told(&["token", "revoke", "--data", &data, id]);
    assert!(success && out == "Revoked.\n", "{out}");
    let (success, _, err) = told(&["token", "revoke", "--data", &data, id]);
    assert!(!success && err.contains("no token with the id"), "{err}");
    let _ = std::fs::remove_dir_all(&data);
}

#[test]
fn tokens_that_cannot_be_are_refused_and_nothing_is_made() {
    let (data, _) = places("no-tokens");
    let cases: &[(&[&str], &str)] = &[
        (&["create", "--data", &data], "--role <ROLE>"),
        (&["create", "--data", &data, "--role", "god"], "possible values: reader, writer, admin"),
        (
            &["create", "--data", &data, "--role", "admin", "--tenant", "a"],
            "An admin is of no tenant",
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
        let (success, _, err) = told(&[&["token"], *arguments].concat());
        assert!(!success && err.contains(expected), "{arguments:?}: {err}");
        assert!(!std::path::Path::new(&data).exists(), "{arguments:?}");
    }
}

#[test]
fn others_are_served_only_if_there_are_tokens() {
    let (data, model) = places("everywhere");
    let everywhere = ["--data", &data, "--listen", "0.0.0.0:0"];
    let (success, _, err) = told(&[&["serve", &model], &everywhere[..]].concat());
    assert!(!success && err.contains("keyloom token create"), "{err}");
    let (_, out, _) =
        told(&["token", "create", "--data", &data, "--role", "writer", "--tenant", "a"]);
    let token = out.lines().next().unwrap();
    let mut serving = Serving::start(&model, &everywhere);
    let url = serving.url.replace("0.0.0.0", "127.0.0.1");
    let contact = json!({"name": "Ann"});
    let mut stranger = Http::connect(&url, "");
    assert_eq!(stranger.ask("POST", "/contacts", &contact).unwrap().0, 401);
    let mut known = Http::connect(&url, &format!("Authorization: Bearer {token}\r\n"));
    assert_eq!(known.ask("POST", "/contacts", &contact).unwrap().0, 201);
    assert!(told(&["token", "list", "--data", &data]).1.contains("writer"));
    assert!(serving.stop());
    let _ = std::fs::remove_dir_all(&data);
}

#[test]
fn a_server_greets_with_what_to_try() {
    let (data, model) = places("greeting");
    let serving = Serving::start(&model, &["--data", &data]);
    for part in ["No tokens configured: only loopback requests", "curl ", "/contacts", "/docs"] {
        assert!(serving.greeting.contains(part), "{part}: {}", serving.greeting);
    }
    drop(serving);
    let _ = std::fs::remove_dir_all(&data);
}
