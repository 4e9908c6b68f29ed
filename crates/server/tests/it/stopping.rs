//! Starting on allowed addresses, and stopping without losing a request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_server::{Config, DynamoDb, Limits, Server, TlsFiles};
use keyloom_store::{MemoryStore, SystemClock};

use crate::rig::{Answer, Rig, Setup, post};

const LIST: &str = "DynamoDB_20120810.ListTables";

#[test]
fn a_request_in_progress_is_answered_and_idle_connections_end() {
    let mut rig = Rig::start(Setup::default());
    let mut idle = rig.connect();
    let mut under_way = rig.connect();
    for stream in [&mut idle, &mut under_way] {
        stream.write_all(&post(LIST, "", "{}")).unwrap();
        assert_eq!(Answer::read(stream).status, 200);
    }
    let request = post(LIST, "Expect: 100-continue\r\n", "{}");
    let (first, rest) = request.split_at(request.len() - 2);
    under_way.write_all(first).unwrap();
    // The server asks for the body once it has read the head.
    let mut interim = [0; 25];
    under_way.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    rig.stop();
    assert_eq!(Answer::read(&mut idle).status, 0);
    under_way.write_all(rest).unwrap();
    let answer = Answer::read(&mut under_way);
    assert_eq!((answer.status, Answer::read(&mut under_way).status), (200, 0));
    rig.join();
    assert!(TcpStream::connect(rig.address).is_err());
}

#[test]
fn a_client_that_never_ends_does_not_prevent_stopping() {
    let mut rig = Rig::start(Setup::default());
    let mut slow = rig.connect();
    slow.write_all(b"POST / HT").unwrap();
    rig.stop();
    rig.join();
    assert_eq!(Answer::read(&mut slow).status, 0);
}

fn bind(listen: [u8; 4], tls: Option<TlsFiles>) -> String {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let endpoint = Endpoint::new(store, EndpointOptions::default());
    let app = DynamoDb::new(endpoint, None, Arc::new(SystemClock));
    let config = Config {
        listen: SocketAddr::from((listen, 0)),
        tls,
        limits: Limits::default(),
        cors_origins: vec![],
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(Server::bind(config, app.into())) {
        Ok(server) => format!("{}", server.address().ip()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn without_credentials_only_loopback_addresses_are_bound() {
    assert_eq!(bind([127, 0, 0, 1], None), "127.0.0.1");
    let refused = bind([0, 0, 0, 0], None);
    assert!(
        refused.starts_with("Refusing to listen on 0.0.0.0:0 without authentication"),
        "{refused}"
    );
}

#[test]
fn invalid_certificate_files_are_named() {
    let files = TlsFiles { certificate: "Cargo.toml".into(), key: "none.key".into() };
    let refused = bind([127, 0, 0, 1], Some(files));
    assert_eq!(refused, "Cannot use Cargo.toml for TLS: it contains no certificate.");
}
