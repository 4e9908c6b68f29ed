//! Malformed requests and the exact text of their problems, in `tests/said`.

use std::io::Write;

use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Door, Served, Setup};
use crate::rig::Answer;

const MODEL: &str = r#"
[entity.person]
id = "given"
path = "/people"
fields.name = "text 1..40"
fields.age = "int? 0..150"
fields.weight = "number?"
fields.born = "time?"
fields.photo = "bytes? 0..10"
fields.kind = "enum(friend, foe) = friend"
fields.boss = "ref person clear?"
fields.facts = "any?"
fields.is_tall = "bool?"
unique = ["name"]
list.by_name = { path = "/people", order = "name" }
list.by_kind = { path = "/kinds/{kind}/people", by = "kind", order = "age" }
list.by_born = { order = ["born", "age"] }

[entity.bill]
tenant = "firm"
fields.firm = "text"
fields.sum = "int"
list.by_sum = { path = "/bills", order = "sum" }
"#;

fn people() -> Served {
    let mut setup = Setup::new(Door::Open);
    setup.limits.body_bytes = 4096;
    setup.limits.headers = 30;
    setup.limits.head_bytes = 16 * 1024;
    let served = Served::start(MODEL, setup);
    for (id, age) in [("ann", 1), ("bob", 2), ("cid", 3)] {
        let document = json!({"id": id, "name": id, "age": age});
        served.ask(&Ask::post("/people", &document)).expect_json(201);
        let bill = Ask::post("/bills", &json!({"sum": age})).tenant("acme");
        served.ask(&bill).expect_json(201);
    }
    served
}

/// The problem of a response: status, code and detail.
fn told(answer: &Answer) -> String {
    if answer.body.is_empty() {
        return format!("{} (no body)", answer.status);
    }
    let problem = answer.json();
    let mut told = format!("{}\n{}", answer.outcome(), problem["detail"].as_str().unwrap());
    for error in problem["errors"].as_array().unwrap_or(&vec![]) {
        told.push_str(&format!("\n- {}: {}", error["field"], error["detail"].as_str().unwrap()));
    }
    // Escapes control characters, so that the file is plain text.
    let shown = |c: char| match c.is_control() && c != '\n' {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    told.chars().map(shown).collect()
}

/// Compares the problems with a file in `tests/said`; writes the file if `KEYLOOM_BLESS` is set.
#[track_caller]
fn assert_said(name: &str, answers: &[(String, Answer)]) {
    let one = |(title, answer): &(String, Answer)| {
        assert!((400..500).contains(&answer.status), "{title}: {}", told(answer));
        format!("## {title}\n{}\n\n", told(answer))
    };
    let said: String = answers.iter().map(one).collect();
    let path = format!("{}/tests/said/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("KEYLOOM_BLESS").is_some() {
        std::fs::write(&path, &said).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(said == expected, "tests/said/{name}.txt says otherwise:\n{said}");
}

fn posted(served: &Served, body: impl Into<Vec<u8>>) -> Answer {
    let ask = Ask::new("POST", "/people").header("Content-Type", "application/json");
    served.ask(&ask.body(body))
}

#[test]
fn bodies_that_are_not_documents() {
    let served = people();
    let deep = format!("{{\"facts\":{}1{}}}", "[".repeat(1000), "]".repeat(1000));
    let digits = "1234567890".repeat(4);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", b"".to_vec()),
        ("truncated", b"{\"name\": \"x".to_vec()),
        ("truncated after a member", b"{\"name\": \"x\",".to_vec()),
        ("not JSON", b"name=x".to_vec()),
        ("a list", b"[]".to_vec()),
        ("a text", b"\"x\"".to_vec()),
        ("more than one", b"{} {}".to_vec()),
        ("deep", deep.into_bytes()),
        ("only brackets", "[".repeat(4000).into_bytes()),
        ("a name twice", b"{\"name\": \"x\", \"name\": \"y\"}".to_vec()),
        ("a name twice, inside", b"{\"facts\": {\"a\": 1, \"\\u0061\": 2}}".to_vec()),
        ("1e400", b"{\"weight\": 1e400}".to_vec()),
        ("40 digits", format!("{{\"weight\": {digits}}}").into_bytes()),
        ("no number", b"{\"weight\": 01}".to_vec()),
        ("not a number", b"{\"weight\": NaN}".to_vec()),
        ("invalid UTF-8", b"{\"name\": \"\xff\xfe\"}".to_vec()),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec()),
        ("a byte order mark", b"\xef\xbb\xbf{}".to_vec()),
        ("half a surrogate", b"{\"name\": \"\\ud800\"}".to_vec()),
        ("a control character", b"{\"name\": \"a\x01b\"}".to_vec()),
        ("NUL", b"{\"name\": \"a\0b\"}".to_vec()),
        ("only NULs", vec![0; 100]),
        ("too large", format!("{{\"name\":\"{}\"}}", "x".repeat(4096)).into_bytes()),
    ];
    let answers: Vec<(String, Answer)> =
        cases.into_iter().map(|(title, body)| (title.to_owned(), posted(&served, body))).collect();
    assert_said("bodies", &answers);
}

#[test]
fn documents_that_violate_the_model() {
    let served = people();
    let cases = [
        json!({}),
        json!({"id": "x"}),
        json!({"id": "x", "name": 1}),
        json!({"id": "x", "name": null}),
        json!({"id": "x", "name": ""}),
        json!({"id": "x", "name": "y".repeat(41)}),
        json!({"id": "x", "name": "y", "nmae": 1}),
        json!({"id": "x", "name": "y", "age": 1.5, "kind": "enemy", "is_tall": "yes"}),
        json!({"id": "x", "name": "y", "age": -1}),
        json!({"id": "x", "name": "y", "age": 1e18}),
        json!({"id": "x", "name": "y", "age": "12"}),
        json!({"id": "x", "name": "y", "born": "yesterday"}),
        json!({"id": "x", "name": "y", "born": "2026-02-30T00:00:00Z"}),
        json!({"id": "x", "name": "y", "photo": "not base64!"}),
        json!({"id": "x", "name": "y", "photo": "AAAAAAAAAAAAAAAAAAAA"}),
        json!({"id": "x", "name": "y", "boss": "nobody"}),
        json!({"id": "x", "name": "y", "boss": {}}),
        json!({"id": "x", "name": ["y"]}),
        json!({"id": 1, "name": "y"}),
        json!({"id": "", "name": "y"}),
        json!({"id": ".", "name": "y"}),
        json!({"id": "a\u{0}", "name": "y"}),
        json!({"id": "i".repeat(257), "name": "y"}),
        json!({"id": "ann", "name": "y"}),
        json!({"id": "x", "name": "ann"}),
    ];
    let ask = |document: &Value| served.ask(&Ask::post("/people", document));
    let mut answers: Vec<(String, Answer)> =
        cases.iter().map(|document| (short(&document.to_string()), ask(document))).collect();
    for document in [json!({"sum": 1}), json!({"sum": 1, "firm": "other"})] {
        let mut bill = Ask::post("/bills", &document);
        if document.get("firm").is_some() {
            bill = bill.tenant("acme");
        }
        answers.push((format!("a bill: {document}"), served.ask(&bill)));
    }
    assert_said("documents", &answers);
}

fn short(text: &str) -> String {
    let start: String = text.chars().take(70).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

#[test]
fn invalid_paths_and_parameters() {
    let served = people();
    let long = format!("/people/{}", "x".repeat(3000));
    let paths = [
        "//",
        "/people/",
        "//people",
        "/People",
        "/people/ann/",
        "/people/ann/x",
        "/nowhere",
        "/people/%",
        "/people/%4",
        "/people/%zz",
        "/people/%ff",
        "/people?name=%c3",
        "/people?%=1",
        "/people/%00",
        "/people/a%00b",
        "/people/%2e%2e",
        "/people/a%2Fb",
        "/people/\u{fc}",
        "/people?limit=0",
        "/people?limit=-1",
        "/people?limit=1000000000",
        "/people?limit=1e9",
        "/people?limit=abc",
        "/people?limit=",
        "/people?limit",
        "/people?limit=1001",
        "/people?limit=99999999999999999999",
        "/people?limit=1&limit=2",
        "/people?limit=+1",
        "/people?cursor=",
        "/people?cursor=x",
        "/people?cursor=x&cursor=y",
        "/people?cursor=%00",
        "/people?reverse=yes",
        "/people?reverse=",
        "/people?reverse=true&reverse=true",
        "/people?nmae=x",
        "/people?=",
        "/people?age=1",
        "/people?kind=friend",
        "/people?name=ann&limit=0",
        "/people?name=ann&name=bob",
        "/people?name=%3Ca&name=%3Cb",
        "/people?name=%3Ea&name=b",
        "/people?version=1",
        "/kinds/enemy/people",
        "/kinds/friend/people?age=x",
        "/kinds/friend/people?age=%3E1e400",
        "/kinds/friend/people?age=%3E",
        "/kinds/friend/people?kind=foe",
        "/people/lists/by_born?age=1",
        "/people/lists/by_born?born=yesterday",
        "/people/lists/by_born?born=%3E2026-01-01T00:00:00Z&age=1",
        "/people/lists/by_name",
        "/people/lists/none",
        "/bills",
        "/bills?sum=1",
        "/tokens?limit=1",
        "/people/ann?limit=0",
        &long,
    ];
    let mut answers = vec![];
    for path in paths {
        let answer = served.ask(&Ask::get(path));
        answers.push((short(path), answer));
    }
    assert_said("paths", &answers);
}

#[test]
fn cursors_of_other_queries() {
    let served = people();
    let cursor = |ask: Ask| {
        let page = served.ask(&ask).expect_json(200);
        page["next"].as_str().expect("there is more").to_owned()
    };
    let own = cursor(Ask::get("/people?limit=1"));
    let of_tenant = cursor(Ask::get("/bills?limit=1").tenant("acme"));
    let mut tampered = own.clone().into_bytes();
    let middle = tampered.len() / 2;
    tampered[middle] = if tampered[middle] == b'A' { b'B' } else { b'A' };
    let tampered = String::from_utf8(tampered).unwrap();
    let half = &own[..middle];
    let asks = [
        ("changed", Ask::get(&format!("/people?limit=1&cursor={tampered}"))),
        ("cut", Ask::get(&format!("/people?cursor={half}"))),
        ("longer", Ask::get(&format!("/people?cursor={own}A"))),
        ("backwards", Ask::get(&format!("/people?reverse=true&cursor={own}"))),
        ("another list", Ask::get(&format!("/kinds/friend/people?cursor={own}"))),
        ("another range", Ask::get(&format!("/people?name=%3Ea&cursor={own}"))),
        ("another entity", Ask::get(&format!("/bills?cursor={own}")).tenant("acme")),
        ("another tenant", Ask::get(&format!("/bills?cursor={of_tenant}")).tenant("other")),
        ("no tenant", Ask::get(&format!("/bills?cursor={of_tenant}"))),
        ("very long", Ask::get(&format!("/people?cursor={}", "A".repeat(5000)))),
    ];
    let answers: Vec<(String, Answer)> =
        asks.iter().map(|(title, ask)| ((*title).to_owned(), served.ask(ask))).collect();
    let good = Ask::get(&format!("/people?limit=5&cursor={own}"));
    assert_eq!(served.ask(&good).expect_json(200)["items"][0]["id"], "bob");
    assert_said("cursors", &answers);
}

#[test]
fn invalid_headers() {
    let served = people();
    let patch = || Ask::patch("/people/ann", &json!({"age": 9}));
    let bare = || Ask::new("POST", "/people").body("{\"id\":\"x\",\"name\":\"x\"}");
    let kind = |kind: &str| bare().header("Content-Type", kind);
    let asks = [
        ("no media type", bare()),
        ("a form", kind("application/x-www-form-urlencoded")),
        ("plain text", kind("text/plain")),
        ("an empty media type", kind("")),
        ("a media type that is longer", kind("application/json+x")),
        ("a patch's media type on POST", kind("application/merge-patch+json")),
        ("two media types", kind("application/json").header("Content-Type", "text/plain")),
        ("one media type twice", kind("application/json, application/json")),
        ("If-Match without quotes", patch().header("If-Match", "abc")),
        ("If-Match with one quote", patch().header("If-Match", "\"abc")),
        ("If-Match with a single quotation mark", patch().header("If-Match", "\"")),
        ("If-Match, empty", patch().header("If-Match", "")),
        ("If-None-Match without quotes", Ask::get("/people/ann").header("If-None-Match", "a")),
        ("two tenants", Ask::get("/bills").tenant("acme").tenant("other")),
        ("two hosts", Ask::get("/people").header("Host", "evil.example")),
    ];
    let mut answers: Vec<(String, Answer)> =
        asks.iter().map(|(title, ask)| ((*title).to_owned(), served.ask(ask))).collect();
    let raw = |bytes: &[u8]| served.rig.send(bytes);
    let hosts: &[(&str, &[u8])] = &[
        ("a host that is not this machine", b"GET /people HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        ("a host that begins like it", b"GET /people HTTP/1.1\r\nHost: localhost.evil\r\n\r\n"),
        (
            "a tenant that is not UTF-8",
            b"GET /bills HTTP/1.1\r\nHost: localhost\r\nKeyloom-Tenant: \xff\r\n\r\n",
        ),
    ];
    answers.extend(hosts.iter().map(|(title, bytes)| ((*title).to_owned(), raw(bytes))));
    assert_said("headers", &answers);
    assert_eq!(served.ask(&Ask::get("/people/ann")).expect_json(200)["age"], 1);
}

#[test]
fn incomplete_requests_and_requests_that_are_not_http() {
    let served = people();
    let json = "Host: localhost\r\nContent-Type: application/json\r\n";
    let flood = "X: y\r\n".repeat(100);
    let long = "x".repeat(20_000);
    let cases: Vec<(&str, String)> = vec![
        ("half a body", format!("POST /people HTTP/1.1\r\n{json}Content-Length: 10\r\n\r\n{{\"na")),
        (
            "a length that is a lie",
            format!("POST /people HTTP/1.1\r\n{json}Content-Length: 99999\r\n\r\n"),
        ),
        (
            "two lengths",
            format!(
                "POST /people HTTP/1.1\r\n{json}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"
            ),
        ),
        ("a negative length", format!("POST /people HTTP/1.1\r\n{json}Content-Length: -1\r\n\r\n")),
        (
            "a chunk without a size",
            format!("POST /people HTTP/1.1\r\n{json}Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
        ),
        (
            "a chunk that is too large",
            format!(
                "POST /people HTTP/1.1\r\n{json}Transfer-Encoding: chunked\r\n\r\n1388\r\n{}\r\n0\r\n\r\n",
                "x".repeat(5000)
            ),
        ),
        ("many headers", format!("GET /people HTTP/1.1\r\nHost: localhost\r\n{flood}\r\n")),
        ("a long path", format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n")),
        ("a long header", format!("GET /people HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n")),
        ("NUL in the path", "GET /pe\0ople HTTP/1.1\r\nHost: localhost\r\n\r\n".into()),
        ("NUL in a header", "GET /people HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n".into()),
        ("a space in the path", "GET /pe ople HTTP/1.1\r\nHost: localhost\r\n\r\n".into()),
        ("another version", "GET /people HTTP/9.9\r\nHost: localhost\r\n\r\n".into()),
        ("no HTTP at all", "hello\r\n\r\n".into()),
        ("an unknown method", "BREW /people HTTP/1.1\r\nHost: localhost\r\n\r\n".into()),
        ("CONNECT", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n".into()),
        ("OPTIONS of everything", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n".into()),
    ];
    let mut answers = vec![];
    for (title, bytes) in cases {
        let mut stream = served.rig.connect();
        stream.write_all(bytes.as_bytes()).unwrap();
        answers.push((title.to_owned(), Answer::read(&mut stream)));
    }
    assert_said("requests", &answers);
    assert_eq!(served.ask(&Ask::get("/people")).status, 200);
}
