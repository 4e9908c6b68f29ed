//! Arguments that no honest client sends: each is a tool error that says what to do, and the process goes on.

use serde_json::{Value, json};

use super::Stage;
use super::client::{Client, Piped};
use crate::process::app;

#[test]
fn hostile_arguments_are_refused_and_nothing_breaks() {
    let stage = Stage::start("hostile", &app("tasks"));
    stage.tasks(&["cook", "sleep"]);
    let mut client = Piped::start(stage.url(), None, &[]);
    let query = |name: &str, parameters: Value| json!({ "entity": "task", "query": name, "parameters": parameters });
    let long = "x".repeat(1_000_000);
    let deep = format!("{}{}", "[".repeat(60), "]".repeat(60));
    let deep: Value = serde_json::from_str(&deep).unwrap();
    let cursor =
        client.ask("query", json!({ "entity": "task", "query": "all", "limit": 1 }))["next"]
            .clone();
    let cases = [
        // Wrong types, unknown and missing names.
        ("query", json!({}), "bad-argument"),
        ("query", json!({ "entity": 7, "query": [] }), "bad-argument"),
        ("query", json!({ "entity": "task", "query": "all", "sql": "select *" }), "bad-argument"),
        ("query", json!({ "entity": "task", "query": "all", "limit": -1 }), "bad-argument"),
        ("query", json!({ "entity": "task", "query": "all", "limit": 0 }), "bad-argument"),
        ("query", json!({ "entity": "task", "query": "all", "limit": 1e9 }), "bad-argument"),
        ("query", json!({ "entity": "tokens", "query": "list_tokens" }), "unknown-entity"),
        ("query", json!({ "entity": "Tokens", "query": "list_tokens" }), "unknown-entity"),
        ("query", query("list_tokens", json!({})), "not-declared"),
        ("query", query("metrics", json!({})), "not-declared"),
        ("query", query("../tokens", json!({})), "not-declared"),
        ("query", query(&long, json!({})), "not-declared"),
        ("query", query("get", json!({})), "bad-argument"),
        ("query", query("get", json!({ "id": ["a", "b"] })), "bad-argument"),
        ("query", query("all", json!({ "done": true })), "bad-argument"),
        ("query", query("all", json!({ "tag": {} })), "bad-argument"),
        ("query", query("all", json!({ "tag": [] })), "bad-argument"),
        ("query", query("all", json!({ "tag": deep })), "bad-argument"),
        ("query", query("all", json!({ "tag": 1e300 })), "bad-argument"),
        // Options of the server that would make it stream, or return more.
        ("query", query("all", json!({ "live": true })), "bad-argument"),
        ("query", query("all", json!({ "$live": true })), "bad-argument"),
        ("query", query("all", json!({ "limit": 1000 })), "bad-argument"),
        ("query", query("all", json!({ "access_token": "x" })), "bad-argument"),
        // Values that try to leave their place.
        ("query", query("get", json!({ "id": "../tokens" })), "not-found"),
        ("query", query("get", json!({ "id": "..%2ftokens" })), "not-found"),
        ("query", query("get", json!({ "id": "..", })), "bad-argument"),
        ("query", query("get", json!({ "id": "" })), "bad-argument"),
        ("query", query("get", json!({ "id": "a?live=true" })), "not-found"),
        ("query", query("get", json!({ "id": long })), "bad-argument"),
        // Cursors of other queries, and made-up ones.
        ("query", json!({ "entity": "task", "query": "open", "cursor": cursor }), "bad-cursor"),
        ("query", json!({ "entity": "task", "query": "all", "cursor": "zzz" }), "bad-cursor"),
        (
            "query",
            json!({ "entity": "task", "query": "get", "cursor": cursor,
                          "parameters": { "id": "a" } }),
            "bad-argument",
        ),
        ("explain", query("nothing", json!({})), "not-declared"),
        ("describe_model", json!({ "entity": "tsk" }), "unknown-entity"),
        ("check_model", json!({ "model": long }), "bad-argument"),
        ("diff_model", json!({ "model": "[" }), "invalid-model"),
        ("propose", json!({ "entity": "task" }), "bad-argument"),
        ("propose", json!({ "entity": "task", "order_by": ["nme"] }), "bad-argument"),
        ("propose", json!({ "entity": "task\"]\n[x", "order_by": ["name"] }), "bad-argument"),
        (
            "propose",
            json!({ "entity": "task", "order_by": ["name"], "name": "a]\n[b" }),
            "bad-argument",
        ),
        ("propose", json!({ "entity": "task", "order_by": vec!["name"; 1000] }), "bad-argument"),
        ("changes_since", json!({ "position": "zzz" }), "bad-parameter"),
        ("changes_since", json!({ "position": "0&entity=x" }), "bad-parameter"),
        ("verify", json!({ "position": "zzz" }), "bad-parameter"),
        ("verify", json!({ "position": "0.numbers.0" }), "bad-parameter"),
    ];
    for (tool, arguments, code) in cases {
        let error = client.fail(tool, arguments.clone());
        let shown = arguments.to_string().chars().take(200).collect::<String>();
        assert_eq!(error["code"], json!(code), "{tool} {shown}: {error}");
        let text = error["text"].as_str().unwrap();
        assert!(text.len() < 4000, "{tool} {shown}: {} bytes", text.len());
    }
    let unknown = client.request("tools/call", json!({ "name": "drop_table", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], json!(-32602), "{unknown}");
    // It still answers.
    assert_eq!(client.ask("query", query("all", json!({})))["rows"].as_array().unwrap().len(), 2);
    assert!(client.end());
}

#[test]
fn a_server_that_is_gone_is_reported_with_what_to_do() {
    let mut client = Piped::start("http://127.0.0.1:1", None, &[]);
    let error = client.fail("describe_model", json!({}));
    assert_eq!(error["code"], json!("unreachable"));
    assert!(error["hint"].as_str().unwrap().contains("keyloom serve"), "{error}");
}

#[test]
fn a_server_of_something_else_is_reported() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        let page = "<html>hello</html>";
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len()).unwrap();
    });
    let mut client = Piped::start(&format!("http://{address}"), None, &[]);
    assert_eq!(client.fail("describe_model", json!({}))["code"], json!("bad-response"));
    serving.join().unwrap();
}
