//! A bulk change continues after `kill -9`, and changes each entity once.

use std::process::Command;

use keyloom_testkit::readme::Process;
use serde_json::{Value as Json, json};

use crate::process::{keyloom, scratch};

const MODEL: &str = r#"
[entity.item]
id = "given"
fields.points = "int = 0"
list.all = { path = "/items", order = "points" }
"#;
const ITEMS: usize = 2_000;

fn curl(method: &str, url: &str, body: Option<Json>) -> Json {
    let mut command = Command::new("curl");
    command.args(["--silent", "--request", method, url]);
    if let Some(body) = body {
        command.args(["--json", &body.to_string()]);
    }
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{method} {url}: {output:?}"))
}

#[test]
fn a_bulk_change_continues_in_the_next_process() {
    let directory = scratch("bulk");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let (model, data) = (directory.join("model.toml"), directory.join("data"));
    std::fs::write(&model, MODEL).unwrap();
    let serve = || {
        let mut command = keyloom();
        command.arg("serve").arg(&model).arg("--data").arg(&data);
        Process::serve(command)
    };
    let mut server = serve();
    for some in (0..ITEMS).collect::<Vec<_>>().chunks(100) {
        let create = |id: &usize| json!({ "create": "item", "document": { "id": id.to_string() } });
        let requests: Vec<Json> = some.iter().map(create).collect();
        curl("POST", &format!("{}/batch", server.url), Some(json!({ "requests": requests })));
    }
    let patch = json!({ "points": { "$add": 1 } });
    let started = curl("PATCH", &format!("{}/items?$all=true", server.url), Some(patch));
    let path = format!("/operations/{}", started["id"].as_str().unwrap());
    let (mut kills, mut last) = (0, 0);
    let done = loop {
        let now = curl("GET", &format!("{}{path}", server.url), None);
        if now["state"] == "done" {
            break now;
        }
        let changed = now["changed"].as_u64().unwrap();
        assert!(changed >= last, "{now}");
        // Dropping it kills the server, in the middle of something.
        if kills < 8 && (changed > last || kills == 0) {
            (kills, last) = (kills + 1, changed);
            drop(server);
            server = serve();
        }
    };
    assert_eq!((&done["matched"], &done["changed"]), (&json!(ITEMS), &json!(ITEMS)), "{done}");
    let mut cursor = String::new();
    let mut seen = 0;
    loop {
        let page = curl("GET", &format!("{}/items?limit=1000{cursor}", server.url), None);
        let items = page["items"].as_array().unwrap();
        assert!(items.iter().all(|item| item["points"] == 1), "an item was changed twice");
        seen += items.len();
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ITEMS);
    assert!(kills > 1, "it was killed {kills} times");
}
