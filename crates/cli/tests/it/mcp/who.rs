//! Tokens, tenants and access rules hold as for every other client.

use serde_json::{Value, json};

use super::client::{Client, Piped};
use super::{Stage, token};
use crate::http::Http;
use crate::process::{Folder, app};

const NOTES: &str = "
[entity.note]
fields.author = \"text\"
fields.text   = \"text 1..2000\"
access.owner  = \"author\"
access.read   = [\"owner\", \"moderator\"]
access.create = [\"owner\"]
list.mine     = { path = \"/notes\", by = \"author\" }
";

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

#[test]
fn a_tenant_is_that_of_the_token_or_of_the_option() {
    let folder = Folder::new("mcp-tenants");
    let admin = token(&folder, &["admin"]);
    let [acme, other] =
        ["acme", "other"].map(|tenant| token(&folder, &["writer", "--tenant", tenant]));
    let stage = Stage::on(folder, &app("oncall"));
    for (writer, name) in [(&acme, "Ann"), (&other, "Bob")] {
        stage.create(&bearer(writer), "/contacts", &json!({ "name": name }));
    }
    let names = |token: &str, arguments: &[&str]| {
        let mut client = Piped::start(stage.url(), Some(token), arguments);
        client.call("query", json!({ "entity": "contact", "query": "by_name" }))
    };
    for (token, arguments, expected) in [
        (&acme, &[][..], "Ann"),
        (&other, &[], "Bob"),
        (&admin, &["--tenant", "acme"], "Ann"),
        (&admin, &["--tenant", "other"], "Bob"),
    ] {
        let rows = names(token, arguments)["structuredContent"]["rows"].clone();
        assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
        assert_eq!(rows[0]["name"], json!(expected));
    }
    // Nothing of another tenant, and nothing without one.
    for (token, arguments) in [(&acme, &["--tenant", "other"][..]), (&admin, &[])] {
        let refused = names(token, arguments);
        assert_eq!(refused["isError"], json!(true), "{refused}");
    }
}

#[test]
fn a_revoked_token_reads_nothing_more() {
    let folder = Folder::new("mcp-revoked");
    let (admin, reader) = (token(&folder, &["admin"]), token(&folder, &["reader"]));
    let stage = Stage::on(folder, &app("tasks"));
    let mut client = Piped::start(stage.url(), Some(&reader), &[]);
    let all = json!({ "entity": "task", "query": "all" });
    client.ask("query", all.clone());
    let mut http = Http::connect(stage.url(), &bearer(&admin));
    let (_, tokens) = http.ask("GET", "/tokens", &Value::Null).unwrap();
    let mut tokens = tokens["items"].as_array().unwrap().iter();
    let id = tokens.find(|one| one["role"] == "reader").unwrap()["id"].as_str().unwrap().to_owned();
    http.ask("DELETE", &format!("/tokens/{id}"), &Value::Null).unwrap();
    // The same process, which has read before.
    for (tool, arguments) in [
        ("query", all.clone()),
        ("explain", all),
        ("changes_since", json!({})),
        ("diff_model", json!({ "model": "[entity.task]\nfields.name = \"text\"\n" })),
        ("verify", json!({})),
    ] {
        let error = client.fail(tool, arguments);
        assert_eq!(error["code"], json!("unauthorized"), "{tool}: {error}");
        assert!(!error.to_string().contains(&reader), "{tool}: {error}");
    }
}

#[test]
fn a_reader_reads_and_does_not_verify() {
    let folder = Folder::new("mcp-reader");
    let (reader, admin) = (token(&folder, &["reader"]), token(&folder, &["admin"]));
    let file = folder.write("token", format!("{admin}\n"));
    let stage = Stage::on(folder, &app("tasks"));
    let mut client = Piped::start(stage.url(), Some(&reader), &[]);
    assert_eq!(client.ask("query", json!({ "entity": "task", "query": "all" }))["rows"], json!([]));
    let error = client.fail("verify", json!({}));
    assert_eq!(error["code"], json!("forbidden"));
    assert!(error["hint"].as_str().unwrap().contains("keyloom token create"), "{error}");
    let mut admin = Piped::start(stage.url(), None, &["--token-file", &file]);
    assert_eq!(admin.ask("verify", json!({}))["found"], json!(0));
    for wrong in [None, Some("kl_made_up")] {
        let mut client = Piped::start(stage.url(), wrong, &[]);
        let error = client.fail("query", json!({ "entity": "task", "query": "all" }));
        assert_eq!(error["code"], json!("unauthorized"));
        assert!(error["hint"].as_str().unwrap().contains("KEYLOOM_TOKEN"), "{error}");
        assert!(!error.to_string().contains("kl_made_up"), "{error}");
    }
}

#[test]
fn a_user_reads_what_access_rules_allow() {
    let folder = Folder::new("mcp-users");
    let model = folder.write("notes.toml", NOTES);
    let [ann, ben] = ["ann", "ben"].map(|who| token(&folder, &["user", "--subject", who]));
    let stage = Stage::on(folder, &model);
    let note = stage.create(&bearer(&ann), "/notes", &json!({ "author": "ann", "text": "hers" }));
    let read = |token: &str| {
        let mut client = Piped::start(stage.url(), Some(token), &[]);
        let model = client.ask("describe_model", json!({}));
        assert!(model["note"].is_string() && model["source"].is_null(), "{model}");
        let rows =
            client.ask("query", json!({ "entity": "note", "query": "mine" }))["rows"].clone();
        let one = json!({ "entity": "note", "query": "get", "parameters": { "id": note["id"] } });
        let one = client.call("query", one)["structuredContent"].clone();
        let forbidden = ["propose", "diff_model", "changes_since", "verify"].map(|tool| {
            let arguments = match tool {
                "propose" => json!({ "entity": "note", "order_by": ["text"] }),
                "diff_model" => json!({ "model": NOTES }),
                _ => json!({}),
            };
            client.fail(tool, arguments)["code"].clone()
        });
        assert_eq!(forbidden, [(); 4].map(|()| json!("forbidden")));
        (rows, one)
    };
    let (rows, one) = read(&ann);
    assert_eq!((&rows[0]["text"], &one["rows"][0]["text"]), (&json!("hers"), &json!("hers")));
    let (rows, one) = read(&ben);
    assert_eq!((rows, &one["error"]["code"]), (json!([]), &json!("not-found")), "{one}");
    let no: Value = one["rows"].clone();
    assert!(no.is_null(), "{one}");
}
