//! A server whose `run` is dropped, as by a program that waits for the first of several things.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_server::{DynamoDb, Server};
use keyloom_store::{MemoryStore, SystemClock};

use crate::rig::{Answer, config, post, short_limits};

const LIST: &str = "DynamoDB_20120810.ListTables";

/// One connection that waits for a request, and one in the middle of it.
fn connect(address: SocketAddr) -> [TcpStream; 2] {
    let mut streams = [(); 2].map(|()| TcpStream::connect(address).unwrap());
    let request = post(LIST, "", "{}");
    for stream in &mut streams {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(&request).unwrap();
        assert_eq!(Answer::read(stream).status, 200);
    }
    streams[1].write_all(&request[..request.len() - 1]).unwrap();
    streams
}

#[test]
fn a_server_that_is_dropped_ends_its_connections_and_frees_its_address() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let endpoint = Endpoint::new(store, EndpointOptions::default());
    let app = DynamoDb::new(endpoint, None, Arc::new(SystemClock));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (address, streams) = runtime.block_on(async {
        let server = Server::bind(config(short_limits(), None), app.into()).await.unwrap();
        let address = server.address();
        let clients = tokio::task::spawn_blocking(move || connect(address));
        let running = Box::pin(server.run(std::future::pending()));
        match select(running, clients).await {
            Either::Left(_) => panic!("nobody stops it"),
            // It is dropped here, where other tasks run.
            Either::Right((streams, running)) => {
                drop(running);
                (address, streams.unwrap())
            }
        }
    });
    for mut stream in streams {
        assert_eq!(Answer::read(&mut stream).status, 0);
    }
    assert!(TcpStream::connect(address).is_err());
}
