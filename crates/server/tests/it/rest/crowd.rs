//! Greedy clients do not keep others from being served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use keyloom_server::{Limits, Role};
use serde_json::json;

use super::ask::Ask;
use super::served::{Door, Served, Setup, app, engine};
use crate::rig::{Answer, short_limits};

const CROWD: usize = 200;

fn serve(door: Door, change: impl FnOnce(&mut Limits)) -> Served {
    let mut limits = short_limits();
    change(&mut limits);
    Served::start(&app("tasks"), Setup { limits, store: engine, ..Setup::new(door) })
}

/// Checks that a well-behaved client is served.
fn is_served(served: &Served, token: Option<&str>) {
    for number in 0..10 {
        let ask = Ask::post("/tasks", &json!({"name": format!("{number}")}));
        let ask = token.map_or(ask.clone(), |token| ask.bearer(token));
        served.ask(&ask).expect_json(201);
    }
}

/// The number of open connections, from the metrics.
fn open_connections(served: &Served) -> usize {
    let metrics = served.ask(&Ask::get("/metrics"));
    let lines = metrics.text().lines();
    let found = lines.filter_map(|line| line.strip_prefix("keyloom_connections ")).next();
    found.unwrap().parse().unwrap()
}

fn send_all(served: &Served, bytes: &[u8]) -> Vec<TcpStream> {
    let send = |_| {
        let mut stream = served.rig.connect();
        // The connection may have been closed already for a newer one.
        let _ = stream.write_all(bytes);
        stream
    };
    (0..CROWD).map(send).collect()
}

#[test]
fn the_body_of_an_unknown_sender_is_not_waited_for() {
    let served = serve(Door::Closed, |limits| limits.body_time = Duration::from_secs(60));
    let token = served.token(Role::Writer, None);
    let head = b"POST /tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Content-Length: 8388608\r\n\r\n";
    let crowd = send_all(&served, head);
    for mut stream in crowd {
        assert_eq!(Answer::read(&mut stream).status, 401);
    }
    is_served(&served, Some(&token));
}

#[test]
fn a_body_takes_memory_when_it_arrives_and_not_when_it_is_announced() {
    let served = serve(Door::Closed, |limits| {
        limits.body_time = Duration::from_secs(60);
        (limits.body_bytes, limits.bodies_bytes) = (8 << 20, 16 << 20);
    });
    let token = served.token(Role::Writer, None);
    let head = format!(
        "POST /tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {token}\r\nContent-Length: 8388608\r\n\r\n{{"
    );
    let _crowd = send_all(&served, head.as_bytes());
    is_served(&served, Some(&token));
}

#[test]
fn idle_connections_are_closed_for_new_ones() {
    let served = serve(Door::Open, |limits| {
        (limits.connections, limits.connections_per_client) = (32, 32);
        limits.head_time = Duration::from_secs(60);
    });
    let idle = send_all(&served, b"");
    let half = send_all(&served, b"GET /tasks HTTP/1.1\r\nHost: loc");
    is_served(&served, None);
    drop((idle, half));
    // A connection in regular use survives a crowd of idle ones.
    let (mut regular, mut crowd) = (served.rig.client(), vec![]);
    for _ in 0..CROWD {
        let mut once = served.rig.client();
        // The response shows that it was admitted, so the order of connections is certain.
        assert_eq!(once.send(&Ask::get("/healthz").bytes()).status, 200);
        crowd.push(once);
        assert_eq!(regular.send(&Ask::get("/healthz").bytes()).status, 200);
    }
}

#[test]
fn responses_that_nobody_reads_time_out_and_block_nobody() {
    let served = serve(Door::Open, |limits| {
        (limits.connections, limits.connections_per_client) = (64, 64);
        limits.write_time = Duration::from_millis(300);
    });
    let pipelined = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    let crowd = send_all(&served, &pipelined);
    // On a busy machine, nobody is admitted until the first requests of the crowd are read: whoever is not can retry.
    let is_admitted = || served.ask(&Ask::get("/healthz")).status == 200;
    assert!((0..10_000).any(|_| (0..10).all(|_| is_admitted())), "the crowd blocks others");
    is_served(&served, None);
    // The responses exceed the socket buffers, so writing times out and the connections end.
    const LEFT: usize = 8;
    while open_connections(&served) > LEFT {
        is_served(&served, None);
    }
    let whole = served.ask(&Ask::get("/openapi.json")).body.len() * 100;
    let is_whole = |mut stream: TcpStream| {
        let mut read = vec![];
        let _ = stream.read_to_end(&mut read);
        read.len() >= whole
    };
    // Connections that were still open receive the rest now.
    let wholly_read = crowd.into_iter().map(is_whole).filter(|is_whole| *is_whole).count();
    assert!(wholly_read <= LEFT, "{wholly_read} of {CROWD} were read to the end");
}

#[test]
fn streams_are_limited_per_client() {
    let served = serve(Door::Open, |limits| limits.streams_per_client = 4);
    let open = || {
        let mut stream = served.rig.connect();
        stream.write_all(&Ask::get("/changes").bytes()).unwrap();
        (Answer::read_head(&mut stream).status, stream)
    };
    let mut streams: Vec<_> = (0..4).map(|_| open()).collect();
    assert!(streams.iter().all(|(status, _)| *status == 200));
    let refused = served.ask(&Ask::get("/changes"));
    assert_eq!(refused.outcome(), "503 busy");
    assert_eq!(refused.header("retry-after"), Some("1"));
    is_served(&served, None);
    streams.pop();
    // The server notices that a client is gone when it sends something.
    let again = (0..200).any(|_| {
        is_served(&served, None);
        open().0 == 200
    });
    assert!(again, "a stream that ended is not counted any more");
}
