//! Targets, content types, checksums, compression, keeping connections alive.

use std::collections::BTreeSet;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use keyloom_server::{Credentials, Limits};

use crate::rig::{Answer, Rig, Setup, post, short_limits};

const LIST: &str = "DynamoDB_20120810.ListTables";

#[test]
fn requests_get_the_expected_status() {
    let deep = "[".repeat(100_000);
    let cases: &[(Vec<u8>, u16, &str)] = &[
        (post(LIST, "", "{}"), 200, r#"{"TableNames":[]}"#),
        (post("x", "", "{}"), 400, r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#),
        (post(LIST, "", "{"), 400, r#"{"__type":"com.amazon.coral.service#SerializationException"}"#),
        (post(LIST, "", ""), 400, r#"{"__type":"com.amazon.coral.service#SerializationException"}"#),
        (post(LIST, "", &deep), 400, r#"{"__type":"com.amazon.coral.service#SerializationException"}"#),
        (
            post(LIST, "", "{}").iter().map(|b| if *b == b'0' { b'1' } else { *b }).collect(),
            404,
            "<UnknownOperationException/>\n",
        ),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 200, "healthy: dynamodb.us-east-1.amazonaws.com "),
        (b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 200, "healthy: dynamodb.us-east-1.amazonaws.com "),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 200, "healthy: dynamodb.us-east-1.amazonaws.com "),
        (b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 404, "<UnknownOperationException/>\n"),
        (b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 200, r#"{"status":"ready"}"#),
        (b"POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 2\r\n\r\n{}".to_vec(), 404, "<UnknownOperationException/>\n"),
        (b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 404, "<UnknownOperationException/>\n"),
        (b"PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".to_vec(), 404, "<UnknownOperationException/>\n"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}".to_vec(), 404, "<UnknownOperationException/>\n"),
        (b"nonsense\r\n\r\n".to_vec(), 400, ""),
    ];
    let rig = Rig::start(Setup::default());
    for (request, status, body) in cases {
        let answer = rig.send(request);
        let shown = String::from_utf8_lossy(&request[..request.len().min(300)]).into_owned();
        // The content type that one of the cases spoils has a digit 0 in other places too.
        if shown.contains("json-1.1") {
            assert_eq!(answer.status, *status, "{shown}");
            continue;
        }
        assert_eq!((answer.status, answer.text()), (*status, *body), "{shown}");
    }
}

#[test]
fn without_credentials_only_loopback_host_names_are_accepted() {
    let rig = Rig::start(Setup::default());
    let to = |host: &str| {
        let request = String::from_utf8(post(LIST, "", "{}")).unwrap();
        rig.send(request.replace("localhost:8000", host).as_bytes())
    };
    for host in ["127.0.0.1:8000", "localhost", "[::1]:8000"] {
        assert_eq!(to(host).status, 200, "{host}");
    }
    // A foreign name that resolves to this machine, to reach it from a local browser.
    let answer = to("rebound.example.com:8000");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("AccessDeniedException"), "{}", answer.text());
}

#[test]
fn responses_have_an_id_and_a_checksum() {
    let rig = Rig::start(Setup::default());
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        let answer = rig.send(&post(LIST, "", "{}"));
        let checksum: u32 = answer.header("x-amz-crc32").unwrap().parse().unwrap();
        assert_eq!(checksum, crc32(&answer.body));
        let id = answer.header("x-amzn-requestid").unwrap();
        assert_eq!(id.len(), 52);
        ids.insert(id.to_owned());
    }
    assert_eq!(ids.len(), 20);
}

/// Computed bit by bit, to differ from the code under test.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn large_responses_are_compressed_on_request() {
    let rig = Rig::start(Setup::default());
    // An error that quotes the request is a large response that needs no table.
    let body = format!(r#"{{"Limit":1,"ExclusiveStartTableName":"{}"}}"#, "?".repeat(2000));
    let plain = rig.send(&post(LIST, "", &body));
    assert_eq!(plain.header("content-encoding"), None);
    let packed = rig.send(&post(LIST, "Accept-Encoding: br, gzip\r\n", &body));
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(packed.header("x-amz-crc32").unwrap(), crc32(&packed.body).to_string());
    let mut unpacked = Vec::new();
    GzDecoder::new(&*packed.body).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain.body);
    let refused = rig.send(&post(LIST, "Accept-Encoding: gzip;q=0\r\n", &body));
    assert_eq!(refused.header("content-encoding"), None);
    let small = rig.send(&post(LIST, "Accept-Encoding: gzip\r\n", "{}"));
    assert_eq!(small.header("content-encoding"), None);
}

#[test]
fn a_connection_is_reused_also_for_pipelined_requests() {
    let rig = Rig::start(Setup::default());
    let mut stream = rig.connect();
    for _ in 0..3 {
        stream.write_all(&post(LIST, "", "{}")).unwrap();
        assert_eq!(Answer::read(&mut stream).status, 200);
    }
    stream.write_all(&[post(LIST, "", "{}"), post("x", "", "{}")].concat()).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 200);
    assert_eq!(Answer::read(&mut stream).status, 400);
}

fn packed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn post_packed(encoding: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: {LIST}\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn compressed_requests_are_unpacked_within_the_limits() {
    let limits = Limits { body_bytes: 100_000, ..short_limits() };
    let rig = Rig::start(Setup { limits, ..Setup::default() });
    let (whole, halves) = (packed(b"{}"), [packed(b"{"), packed(b"}")].concat());
    for body in [&whole, &halves] {
        let answer = rig.send(&post_packed("gzip", body));
        assert_eq!((answer.status, answer.text()), (200, r#"{"TableNames":[]}"#));
    }
    let broken = r#"{"__type":"com.amazon.coral.service#SerializationException"}"#;
    let cut = whole.get(..whole.len() - 1).unwrap();
    for (encoding, body) in
        [("gzip", cut), ("gzip", &b"{}"[..]), ("gzip", &b""[..]), ("zstd", &whole[..])]
    {
        let answer = rig.send(&post_packed(encoding, body));
        assert_eq!((answer.status, answer.text()), (400, broken), "{encoding} {body:?}");
    }
    // A small body that becomes large.
    let bomb = packed(&vec![b' '; 10_000_000]);
    assert!(bomb.len() < 100_000);
    assert_eq!(rig.send(&post_packed("gzip", &bomb)).status, 413);
    assert_eq!(rig.send(&post(LIST, "", "{}")).status, 200);
}

#[test]
fn pages_of_other_origins_may_send_signed_requests() {
    let preflight = b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://example.com\r\n\
        Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-amz-target, b\r\n\r\n";
    let credentials = "[default]\naws_access_key_id = key\naws_secret_access_key = secret\n";
    let credentials = Some(Credentials::parse(credentials).unwrap());
    let rig = Rig::start(Setup { credentials, ..Setup::default() });
    let answer = rig.send(preflight);
    assert_eq!((answer.status, answer.text()), (200, ""));
    let expected = [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", "POST"),
        ("access-control-allow-headers", "x-amz-target, b"),
        ("access-control-max-age", "172800"),
    ];
    for (name, value) in expected {
        assert_eq!(answer.header(name), Some(value));
    }
    // What the page may do is decided by the signature.
    let answer = rig.send(&post(LIST, "Origin: http://example.com\r\n", "{}"));
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("MissingAuthenticationTokenException"), "{}", answer.text());
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("x-amz-crc32"));
    let answer = rig.send(&post(LIST, "", "{}"));
    assert_eq!(answer.header("access-control-allow-origin"), None);
    // A server that checks no signatures allows no page anything.
    let rig = Rig::start(Setup::default());
    let answer = rig.send(preflight);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (404, None));
}

#[test]
fn the_console_is_one_page_under_a_strict_policy() {
    let rig = Rig::start(Setup::default());
    let page = rig.send(b"GET /console HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.text().matches("</script>").count(), 1);
    assert!(page.text().len() < 100_000, "{}", page.text().len());
    // A name of another site that leads here gets nothing.
    let other = rig.send(b"GET /console HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n");
    assert_eq!(other.status, 400);
}
