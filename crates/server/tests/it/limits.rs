//! Limits of clients: memory, time, connections.

use std::io::Write;

use keyloom_server::Limits;

use crate::rig::{Answer, Rig, Setup, post};

const LIST: &str = "DynamoDB_20120810.ListTables";

fn with_limits(change: impl FnOnce(&mut Limits)) -> Rig {
    let mut setup = Setup::default();
    change(&mut setup.limits);
    Rig::start(setup)
}

#[test]
fn a_body_can_be_as_large_as_the_limit() {
    let rig = with_limits(|limits| limits.body_bytes = 1000);
    let body = |length: usize| format!("{{{}}}", " ".repeat(length - 2));
    assert_eq!(rig.send(&post(LIST, "", &body(1000))).status, 200);
    assert_eq!(rig.send(&post(LIST, "", &body(1001))).status, 413);
    // A body without a length is refused once it exceeds the limit.
    let chunked = |length: usize| {
        format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Amz-Target: {LIST}\r\n\
             Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{}\r\n0\r\n\r\n",
            body(length)
        )
    };
    assert_eq!(rig.send(chunked(1000).as_bytes()).status, 200);
    assert_eq!(rig.send(chunked(1001).as_bytes()).status, 413);
    for (length, expected) in [(1 << 40, 413), (u64::MAX, 431)] {
        let lying = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        let status = rig.send(lying.as_bytes()).status;
        assert_eq!(status, expected, "{length}");
    }
}

#[test]
fn a_head_is_limited() {
    let rig = with_limits(|limits| limits.headers = 20);
    let many = "A: b\r\n".repeat(30);
    assert_eq!(rig.send(&post(LIST, &many, "{}")).status, 431);
    let rig = with_limits(|limits| limits.head_bytes = 16 * 1024);
    let long = format!("A: {}\r\n", "b".repeat(20 * 1024));
    assert!([0, 431].contains(&rig.send(&post(LIST, &long, "{}")).status));
    assert_eq!(rig.send(&post(LIST, "", "{}")).status, 200, "others are served");
}

#[test]
fn an_incomplete_request_times_out() {
    let rig = Rig::start(Setup::default());
    let whole = post(LIST, "", r#"{"Limit":1}"#);
    let head = whole.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    let mut streams: Vec<_> = [0, 1, 30, head - 1, head, head + 3]
        .into_iter()
        .map(|length| {
            let mut stream = rig.connect();
            stream.write_all(&whole[..length]).unwrap();
            (length, stream)
        })
        .collect();
    for (length, stream) in &mut streams {
        // A late body is answered, a late head ends the connection.
        let expected: &[u16] = if *length >= head { &[408] } else { &[0, 408] };
        let answer = Answer::read(stream);
        assert!(expected.contains(&answer.status), "{length}: {}", answer.status);
    }
    assert_eq!(rig.send(&whole).status, 200, "others are served");
}

#[test]
fn a_client_that_disconnects_leaves_nothing_behind() {
    let rig = with_limits(|limits| limits.connections = 2);
    for length in 0..37 {
        let mut stream = rig.connect();
        stream.write_all(&post(LIST, "", "{}")[..length * 4]).unwrap();
    }
    assert_eq!(rig.send(&post(LIST, "", "{}")).status, 200);
}

#[test]
fn a_connection_above_the_limit_closes_an_idle_one() {
    let rig = with_limits(|limits| limits.connections = 1);
    let mut first = rig.connect();
    let mut second = rig.connect();
    second.write_all(&post(LIST, "", "{}")).unwrap();
    assert_eq!(Answer::read(&mut second).status, 200);
    assert_eq!(Answer::read(&mut first).status, 0, "it is closed");
}

#[test]
fn bodies_share_their_memory() {
    let rig = with_limits(|limits| {
        limits.body_bytes = 8 * 1024;
        limits.bodies_bytes = 8 * 1024;
    });
    let large = post(LIST, "", &format!("{{{}}}", " ".repeat(8 * 1024 - 2)));
    let (most, rest) = large.split_at(large.len() - 1);
    let mut first = rig.connect();
    first.write_all(most).unwrap();
    let mut second = rig.connect();
    second.write_all(&large).unwrap();
    // A request without a body needs no memory: once it is answered, the others have been received.
    let healthy = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(rig.send(healthy).status, 200);
    first.write_all(rest).unwrap();
    assert_eq!(Answer::read(&mut first).status, 200);
    assert_eq!(Answer::read(&mut second).status, 200, "it was its turn");
}
