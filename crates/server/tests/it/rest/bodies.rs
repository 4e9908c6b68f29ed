//! Compressed bodies, and operations that panic.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use keyloom_server::{OwnAnswer, OwnRequest, OwnRoute, OwnShape, Role};
use serde_json::json;

use super::ask::Ask;
use super::served::{Door, Served, Setup, app};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn packed(body: &[u8], encoding: &str) -> Ask {
    let ask = Ask::new("POST", "/tasks").body(body).header("Content-Type", "application/json");
    ask.header("Content-Encoding", encoding)
}

#[test]
fn bodies_can_be_compressed_with_gzip() {
    let served = Served::open(&app("tasks"));
    let task = json!({"name": "long", "description": "word ".repeat(1000)}).to_string();
    let made = served.ask(&packed(&gzip(task.as_bytes()), "gzip"));
    assert_eq!(made.expect_json(201)["name"], "long");
    assert_eq!(served.ask(&packed(task.as_bytes(), "br")).outcome(), "415 bad-media-type");
    let outcome = served.ask(&packed(task.as_bytes(), "gzip")).outcome();
    assert_eq!(outcome, "400 bad-document", "it is not gzip at all");
    let cut = &gzip(task.as_bytes())[..40];
    assert_eq!(served.ask(&packed(cut, "gzip")).outcome(), "400 bad-document");
}

#[test]
fn the_limit_applies_to_the_decompressed_body() {
    let served = Served::open(&app("tasks"));
    let bomb = gzip(&vec![b' '; 32 << 20]);
    assert!(bomb.len() < 200 << 10);
    assert_eq!(served.ask(&packed(&bomb, "gzip")).outcome(), "413 body-too-large");
}

#[test]
fn a_panic_affects_one_response_only() {
    fn panics(_: OwnRequest) -> OwnAnswer {
        Box::pin(async { panic!("a bug") })
    }
    let route = OwnRoute {
        name: "break",
        method: "GET",
        path: "/break",
        summary: "Panics.",
        role: Some(Role::Reader),
        answer: OwnShape::Json("{}"),
        handler: Arc::new(panics),
    };
    let setup = Setup { own: vec![route], ..Setup::new(Door::Open) };
    let served = Served::start(&app("tasks"), setup);
    let mut client = served.rig.client();
    for _ in 0..3 {
        let answer = client.send(&Ask::get("/break").header("X-Request-Id", "mine").bytes());
        assert_eq!(answer.outcome(), "500 internal");
        assert_eq!(answer.json()["request_id"], "mine");
        assert!(!answer.text().contains("a bug"), "what is wrong inside is for the log");
        assert_eq!(client.send(&Ask::get("/tasks").bytes()).status, 200);
    }
}
