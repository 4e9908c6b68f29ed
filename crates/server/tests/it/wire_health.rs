//! Health checks of the DynamoDB wire.

use std::path::Path;
use std::sync::Arc;

use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_server::DynamoDb;
use keyloom_store::{Background, Engine, Options};
use keyloom_testkit::{ManualClock, SimDisk};

use crate::rig::{Answer, Rig, config, post, short_limits};

const TABLE: &str = r#""TableName":"things""#;
const KEYS: &str = r#""AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST""#;

/// A server in another region than the default one.
fn served(disk: &SimDisk) -> (Rig, Arc<Engine>) {
    let clock = ManualClock::new();
    let options = Options {
        background: Background::Manual,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(disk.clone()),
        ..Options::default()
    };
    let engine = Arc::new(Engine::open(Path::new("/data"), options).unwrap());
    let region = "eu-central-1".to_owned();
    let options = EndpointOptions { region, ..EndpointOptions::default() };
    let endpoint = Endpoint::new(engine.clone(), options);
    let app = DynamoDb::new(endpoint, None, Arc::new(clock.clone())).on_engine(&engine);
    (Rig::serve(app.into(), clock, config(short_limits(), None)), engine)
}

fn get(rig: &Rig, path: &str) -> Answer {
    rig.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
}

fn call(rig: &Rig, operation: &str, body: &str) -> Answer {
    let target = format!("DynamoDB_20120810.{operation}");
    rig.send(&post(&target, "", &format!("{{{TABLE},{body}}}")))
}

fn put(rig: &Rig, id: usize) -> Answer {
    let text = "x".repeat(20_000);
    call(rig, "PutItem", &format!(r#""Item":{{"id":{{"S":"{id}"}},"text":{{"S":"{text}"}}}}"#))
}

#[test]
fn a_server_that_cannot_write_is_healthy_and_not_ready() {
    let disk = SimDisk::new(1);
    let (rig, engine) = served(&disk);
    assert_eq!(call(&rig, "CreateTable", KEYS).status, 200);
    let used: usize = disk.files().iter().map(|path| disk.file_bytes(path).unwrap().len()).sum();
    disk.set_capacity(used as u64 + 100_000);
    let refused = (0..100_000).find(|id| put(&rig, *id).status != 200);
    assert!(refused.is_some_and(|first| first > 0));
    let ready = get(&rig, "/readyz");
    assert_eq!(
        (ready.status, ready.text()),
        (
            503,
            r#"{"__type":"com.amazon.coral.service#ServiceUnavailable","message":"The server cannot write its data; its log has the cause."}"#
        )
    );
    for path in ["/", "/ping", "/healthz"] {
        let healthy = get(&rig, path);
        let expected = (200, "healthy: dynamodb.eu-central-1.amazonaws.com ");
        assert_eq!((healthy.status, healthy.text()), expected, "{path}");
    }
    assert_eq!(call(&rig, "GetItem", r#""Key":{"id":{"S":"0"}}"#).status, 200);
    disk.set_capacity(u64::MAX);
    engine.settle().unwrap();
    let ready = get(&rig, "/readyz");
    assert_eq!((ready.status, ready.text()), (200, r#"{"status":"ready"}"#));
    assert_eq!(put(&rig, 0).status, 200);
}
