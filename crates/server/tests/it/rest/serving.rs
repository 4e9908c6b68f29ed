//! Host names, addresses, TLS and stopping of a served model.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use keyloom::SystemEntropy;
use keyloom_server::{Config, Limits, Rest, RestOptions, Role, Server, TokenRequest, Tokens};
use keyloom_store::{MemoryStore, SystemClock};
use serde_json::json;
use std::sync::Arc;

use super::ask::Ask;
use super::served::{Door, Served, Setup, app};
use crate::rig::Answer;
use crate::tls::{client, files};

#[test]
fn without_tokens_only_loopback_host_names_are_accepted() {
    let served = Served::open(&app("tasks"));
    let host = |host: &str| {
        let request = format!("GET /tasks HTTP/1.1\r\n{host}\r\n");
        served.rig.send(request.as_bytes()).outcome()
    };
    for name in ["localhost", "localhost:8080", "127.0.0.1", "127.0.0.2:1", "[::1]", "[::1]:80"] {
        assert_eq!(host(&format!("Host: {name}\r\n")), "200", "{name}");
    }
    let others = [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::2]",
        "0.0.0.0",
        "",
        "[",
        "\u{e9}",
        "localhost@evil.example",
    ];
    for name in others {
        assert_eq!(host(&format!("Host: {name}\r\n")), "421 wrong-host", "{name}");
    }
    assert_eq!(host("Host: localhost\r\nHost: evil.example\r\n"), "421 wrong-host", "two hosts");
    assert_eq!(host("Host: evil.example\r\nHost: localhost\r\n"), "421 wrong-host", "two hosts");
    let closed = Served::closed(&app("tasks"));
    let reader = closed.token(Role::Reader, None);
    let request = format!(
        "GET /tasks HTTP/1.1\r\nHost: tasks.example\r\nAuthorization: Bearer {reader}\r\n\r\n"
    );
    assert_eq!(closed.rig.send(request.as_bytes()).status, 200);
}

fn bind(listen: [u8; 4], door: Door) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let db = keyloom::Db::open(&app("tasks"), store.clone()).await.unwrap();
        let tokens =
            Tokens::open(store, "keyloom", Arc::new(SystemClock), Arc::new(SystemEntropy)).await;
        let tokens = tokens.unwrap();
        if door == Door::Closed {
            let request = TokenRequest {
                role: Role::Reader,
                user: None,
                tenant: None,
                name: String::new(),
                expires: None,
            };
            tokens.create(request).await.unwrap();
        }
        let rest = Rest::new(db, tokens, vec![], RestOptions::default()).unwrap();
        let listen = SocketAddr::from((listen, 0));
        let config = Config { listen, tls: None, limits: Limits::default(), cors_origins: vec![] };
        match Server::bind(config, rest.into()).await {
            Ok(server) => server.address().ip().to_string(),
            Err(error) => error.to_string(),
        }
    })
}

#[test]
fn without_tokens_only_loopback_addresses_are_bound() {
    assert_eq!(bind([127, 0, 0, 1], Door::Open), "127.0.0.1");
    let refused = bind([0, 0, 0, 0], Door::Open);
    assert!(refused.contains("without authentication"), "{refused}");
    assert_eq!(bind([0, 0, 0, 0], Door::Closed), "0.0.0.0");
}

#[test]
fn a_model_is_served_over_tls() {
    let served =
        Served::start(&app("tasks"), Setup { tls: Some(files()), ..Setup::new(Door::Open) });
    let mut stream = client(served.rig.connect());
    let task = Ask::post("/tasks", &json!({"name": "safe"})).bytes();
    stream.write_all(&task).unwrap();
    assert_eq!(Answer::read(&mut stream).expect_json(201)["name"], "safe");
    assert_eq!(served.rig.send(&task).status, 0, "plain HTTP gets no answer");
}

#[test]
fn a_request_in_progress_is_answered_before_the_server_stops() {
    let mut served = Served::open(&app("tasks"));
    let mut idle = served.rig.connect();
    idle.write_all(&Ask::get("/tasks").bytes()).unwrap();
    assert_eq!(Answer::read(&mut idle).status, 200);
    let request = Ask::post("/tasks", &json!({"name": "late"})).header("expect", "100-continue");
    let request = request.bytes();
    let (first, rest) = request.split_at(request.len() - 1);
    let mut under_way = served.rig.connect();
    under_way.write_all(first).unwrap();
    // The server says so when it begins to read the body.
    let mut interim = [0; 25];
    under_way.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    served.rig.stop();
    assert_eq!(Answer::read(&mut idle).status, 0);
    under_way.write_all(rest).unwrap();
    let answer = Answer::read(&mut under_way);
    assert_eq!((answer.status, Answer::read(&mut under_way).status), (201, 0));
    served.rig.join();
    assert!(TcpStream::connect(served.rig.address).is_err());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert!(pollster::block_on(served.db.get("task", &id)).unwrap().is_some());
}
