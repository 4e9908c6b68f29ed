//! Request ids, the log, metrics, compressed responses.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::read::GzDecoder;
use keyloom_server::Role;
use serde_json::{Value, json};

use super::ask::Ask;
use super::log;
use super::served::{Served, app};

#[test]
fn a_request_id_of_a_client_is_kept_or_generated() {
    let served = Served::open(&app("tasks"));
    let id = |ask: Ask| served.ask(&ask).header("x-request-id").unwrap().to_owned();
    for given in ["a", "trace-1_2.3", &"x".repeat(128)] {
        assert_eq!(id(Ask::get("/tasks").header("X-Request-Id", given)), given);
        assert_eq!(id(Ask::get("/nowhere").header("X-Request-Id", given)), given);
    }
    for given in ["", "a b", "a\"b", "\u{e9}", &"x".repeat(129), "a{}"] {
        let made = id(Ask::get("/tasks").header("X-Request-Id", given));
        assert!(made != given && made.len() == 52, "{given} {made}");
    }
    let problem = served.ask(&Ask::get("/tasks/none").header("X-Request-Id", "mine"));
    assert_eq!(problem.json()["request_id"], "mine");
}

#[test]
fn every_request_is_a_line_of_json_with_its_id() {
    let served = Served::closed(&app("oncall"));
    let writer = served.token(Role::Writer, Some("ac\"me\n"));
    let asks = [
        Ask::post("/contacts", &json!({"name": "n"})).bearer(&writer),
        Ask::get("/contacts/none").bearer(&writer),
        Ask::get("/contacts"),
        Ask::get("/no%22where/%0a"),
        Ask::get("/contacts?limit=x").bearer(&writer),
        Ask::new("BREW", "/contacts"),
    ];
    let expected = [
        (201, Some("create_contact"), None),
        (404, Some("read_contact"), Some("not-found")),
        (401, Some("list_contact_by_name"), Some("unauthorized")),
        (404, None, Some("not-found")),
        (400, Some("list_contact_by_name"), Some("bad-parameter")),
        (405, None, Some("bad-method")),
    ];
    for (ask, (status, operation, code)) in asks.iter().zip(expected) {
        let answer = served.ask(ask);
        let id = answer.header("x-request-id").unwrap();
        let lines = log::lines().into_iter().filter(|line| line.contains(id));
        let lines: Vec<Value> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(line["request_id"], id);
        assert!(line["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
        assert_eq!((&line["status"], answer.status), (&json!(status), status), "{line}");
        assert_eq!(line.get("operation"), operation.map(|name| json!(name)).as_ref(), "{line}");
        assert_eq!(line.get("code"), code.map(|code| json!(code)).as_ref(), "{line}");
        assert_eq!(line["bytes_out"], answer.body.len(), "{line}");
        assert_eq!(line["bytes_in"], ask.body.as_ref().map_or(0, Vec::len), "{line}");
        let is_named = ask.headers.iter().any(|(name, _)| name == "Authorization");
        assert_eq!(line.get("tenant"), is_named.then(|| json!("ac\"me\n")).as_ref(), "{line}");
        assert!(line["ms"].as_f64().unwrap() >= 0.0 && line["timestamp"].is_string(), "{line}");
    }
}

/// The samples of the Prometheus text format: name with labels, and value.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let kind = comment.split(' ').next().unwrap();
            assert!(["HELP", "TYPE", "EOF"].contains(&kind), "{line}");
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} twice");
    }
    samples
}

#[test]
fn metrics_count_every_request_once() {
    let served = Served::open(&app("tasks"));
    for number in 0..5 {
        served.ask(&Ask::post("/tasks", &json!({"name": format!("{number}")}))).expect_json(201);
        served.ask(&Ask::post("/tasks", &json!({}))).expect_json(422);
    }
    served.ask(&Ask::get("/nowhere"));
    let answer = served.ask(&Ask::get("/metrics"));
    assert!(
        answer
            .header("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text; version=1.0.0")
    );
    let samples = samples(answer.text());
    let requests = |operation: &str, class: &str| {
        let name =
            format!("keyloom_requests_total{{operation=\"{operation}\",status=\"{class}\"}}");
        samples.get(&name).copied()
    };
    assert_eq!(requests("create_task", "2xx"), Some(5.0));
    assert_eq!(requests("create_task", "4xx"), Some(5.0));
    assert_eq!(requests("none", "4xx"), Some(1.0));
    assert_eq!(samples["keyloom_requests_in_flight"], 1.0, "the one that asks");
    let name = "keyloom_request_duration_seconds";
    let label = "{operation=\"create_task\"";
    assert_eq!(samples[&format!("{name}_count{label}}}")], 10.0);
    assert_eq!(samples[&format!("{name}_bucket{{le=\"+Inf\",operation=\"create_task\"}}")], 10.0);
    assert!(samples[&format!("{name}_sum{label}}}")] > 0.0);
    let mut buckets: Vec<(f64, f64)> = samples
        .iter()
        .filter_map(|(sample, count)| {
            let bound = sample.strip_prefix(&format!("{name}_bucket{{le=\""))?;
            let bound = bound.strip_suffix("\",operation=\"create_task\"}")?;
            Some((bound.parse().ok()?, *count))
        })
        .collect();
    buckets.sort_by(|left, right| left.0.total_cmp(&right.0));
    assert!(buckets.len() > 10 && buckets.is_sorted_by(|a, b| a.1 <= b.1), "{buckets:?}");
}

#[test]
fn large_responses_are_compressed_on_request() {
    let served = Served::open(&app("tasks"));
    let task = json!({"name": "long", "description": "word ".repeat(1000)});
    let made = served.ask(&Ask::post("/tasks", &task));
    let path = made.header("location").unwrap();
    let plain = served.ask(&Ask::get(path));
    assert_eq!(plain.header("content-encoding"), None);
    let packed = served.ask(&Ask::get(path).header("Accept-Encoding", "br, gzip"));
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 10 < plain.body.len());
    let mut unpacked = vec![];
    GzDecoder::new(&*packed.body).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain.body);
    for answer in [&plain, &packed] {
        assert_eq!(answer.header("vary"), Some("accept-encoding"), "caches keep them apart");
    }
    let refused = served.ask(&Ask::get(path).header("Accept-Encoding", "gzip;q=0"));
    assert_eq!(refused.header("content-encoding"), None);
}

#[test]
fn operation_names_are_unique() {
    let model = "[entity.a]\nfields.x = \"int\"\nlist.b_c = { order = \"x\" }\n\
                 [entity.a_b]\nfields.x = \"int\"\nlist.c = { order = \"x\" }\n\
                 [entity.token]\npath = \"/coins\"\n";
    let served = Served::open(model);
    let names: Vec<&str> = served.routes.iter().map(|route| route.name.as_str()).collect();
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
    for name in ["create_token", "create_token_2", "list_a_b_c", "list_a_b_c_2"] {
        assert!(distinct.contains(name), "{names:?}");
    }
}

#[test]
fn responses_are_not_cached_or_sniffed() {
    let served = Served::open(&app("tasks"));
    for path in ["/tasks", "/tasks/none", "/nowhere", "/metrics"] {
        let answer = served.ask(&Ask::get(path));
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}
