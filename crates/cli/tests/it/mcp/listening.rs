//! Who can use `keyloom mcp --listen`: this machine, but no page in its browser; others with a token of
//! their own.

use serde_json::{Value, json};

use super::client::{Client, Listening, Posted};
use super::{Stage, token};
use crate::process::{Folder, app, keyloom};

fn list() -> Value {
    let arguments = json!({ "entity": "task", "query": "all" });
    Posted::message("tools/call", &json!({ "name": "query", "arguments": arguments }))
}

/// A server that needs tokens, with one of a reader.
fn closed(name: &str) -> (Stage, String) {
    let folder = Folder::new(name);
    let reader = token(&folder, &["reader"]);
    (Stage::on(folder, &app("tasks")), reader)
}

#[test]
fn pages_of_other_sites_are_refused() {
    let stage = Stage::start("rebinding", &app("tasks"));
    let listening = Listening::start(stage.url(), None, "127.0.0.1:0");
    for (headers, status) in [
        ("", 200),
        ("Origin: http://localhost:6274\r\n", 200),
        ("Origin: http://evil.example\r\n", 403),
        ("Origin: null\r\n", 403),
    ] {
        assert_eq!(listening.client(headers).post("/mcp", &list()).0, status, "{headers}");
    }
    let host = listening.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    for (name, status) in
        [(host, "200"), ("evil.example", "403"), ("localhost.evil.example", "403")]
    {
        assert_eq!(status_for_host(host, name), status, "{name}");
    }
    assert_eq!(listening.client("").post("/", &list()).0, 404);
    assert_eq!(listening.client("").post("/tokens", &list()).0, 404);
    let huge = Posted::message("ping", &json!({ "x": "x".repeat(3_000_000) }));
    assert_eq!(listening.client("").post("/mcp", &huge).0, 413);
}

/// The status of a request to an address under another name.
fn status_for_host(address: &str, name: &str) -> String {
    use std::io::{Read, Write};
    let body = list().to_string();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn a_token_of_the_client_comes_before_that_of_the_process() {
    let (stage, reader) = closed("mcp-own-token");
    let listening = Listening::start(stage.url(), Some(&reader), "127.0.0.1:0");
    let is_error = |headers: &str| {
        let (status, answer) = listening.client(headers).post("/mcp", &list());
        assert_eq!(status, 200, "{answer}");
        answer["result"]["isError"].clone()
    };
    assert_eq!(is_error(""), json!(false));
    assert_eq!(is_error(&format!("Authorization: Bearer {reader}\r\n")), json!(false));
    assert_eq!(is_error("Authorization: Bearer kl_other\r\n"), json!(true));
    let basic = listening.client("Authorization: Basic x\r\n").post("/mcp", &list());
    assert_eq!(basic.0, 401);
}

#[test]
fn remote_clients_need_a_token_of_their_own() {
    let (stage, reader) = closed("mcp-remote");
    let mut refused = keyloom();
    refused.args(["mcp", "--url", stage.url(), "--listen", "0.0.0.0:0"]);
    let refused = refused.env("KEYLOOM_TOKEN", &reader).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && message.contains("not a loopback address"), "{message}");
    assert!(!message.contains(&reader), "{message}");
    let listening = Listening::start(stage.url(), None, "0.0.0.0:0");
    assert_eq!(listening.client("").post("/mcp", &list()).0, 401);
    let mut client = listening.client(&format!("Authorization: Bearer {reader}\r\n"));
    assert_eq!(client.ask("query", json!({ "entity": "task", "query": "all" }))["rows"], json!([]));
    let mut client = listening.client("Authorization: Bearer kl_made_up\r\n");
    let model = json!({ "model": "[entity.a]\n" });
    assert_eq!(client.fail("check_model", model)["code"], json!("unauthorized"));
}

/// It accepts whatever comes from this machine, so tokens that nobody checked would be worth something.
#[test]
fn a_server_without_tokens_is_not_served_to_others() {
    let stage = Stage::start("open-remote", &app("tasks"));
    let listening = Listening::start(stage.url(), None, "0.0.0.0:0");
    let mut client = listening.client("Authorization: Bearer anything\r\n");
    for (tool, arguments) in [
        ("describe_model", json!({})),
        ("query", json!({ "entity": "task", "query": "all" })),
        ("verify", json!({})),
    ] {
        assert_eq!(client.fail(tool, arguments)["code"], json!("open-server"), "{tool}");
    }
}
