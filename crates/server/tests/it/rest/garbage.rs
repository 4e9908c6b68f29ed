//! Random bytes as methods, paths, queries, headers and bodies: always a response, never a 5xx.

use std::io::Write;
use std::time::Duration;

use keyloom_server::Kind;
use keyloom_testkit::Random;

use super::served::{Door, Served, Setup, app};
use crate::rig::{Answer, Rig};

const CASES: u64 = 1500;

/// Fragments that reach more code than random bytes do.
const PIECES: &[&str] = &[
    "/",
    "tasks",
    "tasks?",
    "contacts",
    "x",
    "lists",
    "with",
    "tokens",
    "batch",
    "transaction",
    "?",
    "&",
    "=",
    "limit=",
    "cursor=",
    "name=",
    "%3C",
    "%00",
    "%",
    "%ff",
    "1",
    "-1",
    "1e400",
    "\0",
    "\u{fc}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\"create\"",
    "\"contact\"",
    "\"document\"",
    "\"changes\":[",
    "\"requests\":[",
    "null",
    "true",
    "\\ud800",
    "*",
    "..",
    ";",
    " ",
    "\t",
];
const METHODS: &[&str] =
    &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "X-Y", "g\0"];
const HEADERS: &[&str] = &[
    "Content-Type",
    "Authorization",
    "Keyloom-Tenant",
    "If-Match",
    "If-None-Match",
    "Accept",
    "Accept-Encoding",
    "X-Request-Id",
    "Expect",
    "Idempotency-Key",
    "Range",
    "Host",
];
const VALUES: &[&str] =
    &["application/json", "Bearer kl_a_b", "acme", "*", "\"x\"", "W/\"x\"", "gzip", "100-continue"];

fn pieces(random: &mut Random, count_max: usize) -> Vec<u8> {
    let mut bytes = vec![];
    for _ in 0..random.index(count_max + 1) {
        match random.chance(1, 12) {
            true => bytes.push(random.index(256) as u8),
            false => bytes.extend(random.pick(PIECES).bytes()),
        }
    }
    bytes
}

fn request(random: &mut Random) -> Vec<u8> {
    let mut bytes = random.pick(METHODS).as_bytes().to_vec();
    bytes.extend(b" /");
    bytes.extend(pieces(random, 6));
    bytes.extend(b" HTTP/1.1\r\nHost: localhost\r\n");
    for _ in 0..random.index(4) {
        bytes.extend(random.pick(HEADERS).bytes());
        bytes.extend(b": ");
        match random.chance(1, 3) {
            true => bytes.extend(pieces(random, 3)),
            false => bytes.extend(random.pick(VALUES).bytes()),
        }
        bytes.extend(b"\r\n");
    }
    let body = if random.chance(1, 2) { pieces(random, 12) } else { vec![] };
    let body = if random.chance(1, 2) { [b"{", &body[..], b"}"].concat() } else { body };
    bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
    bytes.extend(body);
    if random.chance(1, 10) && !bytes.is_empty() {
        let place = random.index(bytes.len());
        bytes[place] = random.index(256) as u8;
    }
    bytes
}

fn check(rig: &Rig, seed: u64) {
    let bytes = request(&mut Random::new(seed));
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    let mut stream = rig.connect();
    stream.write_all(&bytes).unwrap();
    let answer = match bytes.starts_with(b"HEAD ") {
        true => Answer::read_head(&mut stream),
        false => Answer::read(&mut stream),
    };
    assert!(answer.status < 500, "seed {seed}: {shown:?}: {}", answer.status);
    if answer.status >= 400 && !answer.body.is_empty() {
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "seed {seed}");
        let problem = answer.json();
        let code = problem["code"].as_str().unwrap();
        let kind = Kind::ALL.iter().find(|kind| kind.code() == code).expect(code);
        assert_eq!((kind.status(), &problem["status"]), (answer.status, &answer.status.into()));
        assert!(problem["detail"].as_str().unwrap().len() > 10, "seed {seed}: {problem}");
        assert_eq!(problem["request_id"], answer.header("x-request-id").unwrap(), "seed {seed}");
    }
}

#[test]
fn random_requests_never_get_a_server_error() {
    let worlds = ["tasks", "oncall"].map(|name| {
        let mut setup = Setup::new(Door::Open);
        // Incomplete requests time out soon.
        let moment = Duration::from_millis(100);
        (setup.limits.head_time, setup.limits.body_time) = (moment, moment);
        Served::start(&app(name), setup)
    });
    for seed in 0..CASES {
        check(&worlds[(seed % 2) as usize].rig, seed);
    }
}
