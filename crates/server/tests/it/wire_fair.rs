//! Long reads of the DynamoDB wire next to short ones, and beyond their time limit.

use std::sync::Arc;
use std::time::Duration;

use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_server::{DynamoDb, Limits};
use keyloom_store::{Answer, MemoryStore, Page, Scan, Store, yield_point};
use keyloom_testkit::{Front, InFront, ManualClock};
use pollster::block_on;

use crate::crowding::assert_light_passes_heavy;
use crate::rest::served::engine;
use crate::rig::{Rig, config, post, short_limits};

const TABLE: &str = r#""TableName":"things""#;
const KEYS: &str = r#""AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST""#;
/// Scanning them takes longer than the first slice of a request.
const ITEMS: usize = 4000;

fn request(operation: &str, body: &str) -> Vec<u8> {
    post(&format!("DynamoDB_20120810.{operation}"), "", &format!("{{{TABLE},{body}}}"))
}

/// Reads all items and returns none.
fn scan() -> Vec<u8> {
    request(
        "Scan",
        r#""FilterExpression":"n < :zero","ExpressionAttributeValues":{":zero":{"N":"0"}}"#,
    )
}

fn get() -> Vec<u8> {
    request("GetItem", r#""Key":{"id":{"S":"7"}}"#)
}

/// A server of a table with items.
fn served(store: Arc<dyn Store>, clock: &ManualClock, limits: Limits) -> Rig {
    let endpoint = Endpoint::new(store, EndpointOptions::default());
    fill(&endpoint);
    let app = DynamoDb::new(endpoint, None, Arc::new(clock.clone()));
    Rig::serve(app.into(), clock.clone(), config(limits, None))
}

/// A store whose scans never end.
struct Endless(MemoryStore);

impl Front for Endless {
    fn behind(&self) -> &dyn Store {
        &self.0
    }

    fn scan(&self, _: Scan) -> Answer<'_, Page> {
        Box::pin(async {
            loop {
                yield_point().await;
            }
        })
    }
}

fn fill(endpoint: &Endpoint) {
    let call = |operation: &str, body: &str| {
        let target = format!("DynamoDB_20120810.{operation}");
        let reply = block_on(endpoint.call(&target, body.as_bytes()));
        assert_eq!(reply.status, 200, "{}", reply.body);
    };
    call("CreateTable", &format!("{{{TABLE},{KEYS}}}"));
    let put = |id: usize| {
        let item = format!(r#"{{"id":{{"S":"{id}"}},"n":{{"N":"{id}"}}}}"#);
        format!(r#"{{"PutRequest":{{"Item":{item}}}}}"#)
    };
    for from in (0..ITEMS).step_by(25) {
        let puts: Vec<String> = (from..from + 25).map(put).collect();
        let puts = puts.join(",");
        call("BatchWriteItem", &format!(r#"{{"RequestItems":{{"things":[{puts}]}}}}"#));
    }
}

#[test]
fn getting_an_item_passes_long_scans() {
    let clock = ManualClock::new();
    let rig = served(engine(&clock), &clock, short_limits());
    assert_light_passes_heavy(&rig, &get(), &scan());
}

#[test]
fn a_long_scan_times_out_and_the_connection_goes_on() {
    let clock = ManualClock::new();
    let endless = InFront(Endless(MemoryStore::new(Arc::new(clock.clone()))));
    let limits = Limits { answer_time: Duration::from_millis(500), ..short_limits() };
    let rig = served(Arc::new(endless), &clock, limits);
    let mut client = rig.client();
    let late = client.send(&scan());
    assert_eq!(late.status, 503);
    assert!(late.text().contains("ServiceUnavailable"), "{}", late.text());
    assert_eq!(client.send(&get()).status, 200);
}
