//! The load: items of 1 KB in partitions of 20, and threads that send requests without pause.

use std::time::{Duration, Instant};

use keyloom_bench::HttpClient;

const PARTITIONS: u64 = 200;
const ROWS: u64 = 20;

/// A kind of request.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Put,
    Get,
    Query,
    LegacyQuery,
    Transact,
    Statement,
}

impl Work {
    pub(crate) const ALL: [Work; 6] =
        [Work::Put, Work::Get, Work::Query, Work::LegacyQuery, Work::Transact, Work::Statement];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Work::Put => "PutItem 1 KB",
            Work::Get => "GetItem 1 KB",
            Work::Query => "Query 20 × 1 KB",
            Work::LegacyQuery => "Query 20 × 1 KB, KeyConditions",
            Work::Transact => "TransactWriteItems of 4",
            Work::Statement => "ExecuteStatement by key, 1 KB",
        }
    }

    fn request(self, random: &mut u64) -> Vec<u8> {
        let (partition, row) = (next(random) % PARTITIONS, next(random) % ROWS);
        match self {
            Work::Put => put(partition, row, next(random)),
            Work::Get => request(
                "GetItem",
                &format!(
                    r#"{{"TableName":"load","Key":{{"pk":{{"S":"p{partition}"}},"sk":{{"N":"{row}"}}}},"ConsistentRead":true}}"#
                ),
            ),
            Work::Query => request(
                "Query",
                &format!(
                    r#"{{"TableName":"load","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{{":p":{{"S":"p{partition}"}}}},"Limit":20}}"#
                ),
            ),
            Work::LegacyQuery => request(
                "Query",
                &format!(
                    r#"{{"TableName":"load","KeyConditions":{{"pk":{{"ComparisonOperator":"EQ","AttributeValueList":[{{"S":"p{partition}"}}]}}}},"Limit":20}}"#
                ),
            ),
            Work::Transact => {
                let version = next(random);
                let put = |row| {
                    let item = item(partition, row, version);
                    format!(r#"{{"Put":{{"TableName":"load","Item":{item}}}}}"#)
                };
                let puts: Vec<String> = (0..4).map(|n| put((row + n) % ROWS)).collect();
                request(
                    "TransactWriteItems",
                    &format!(r#"{{"TransactItems":[{}]}}"#, puts.join(",")),
                )
            }
            Work::Statement => request(
                "ExecuteStatement",
                &format!(
                    r#"{{"Statement":"SELECT * FROM \"load\" WHERE pk = ? AND sk = {row}","Parameters":[{{"S":"p{partition}"}}],"ConsistentRead":true}}"#
                ),
            ),
        }
    }
}

/// The result of a round.
pub(crate) struct Outcome {
    latencies: Vec<Duration>,
    elapsed: Duration,
    pub(crate) failed: usize,
}

impl Outcome {
    pub(crate) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the latency that this fraction of the requests did not exceed.
    pub(crate) fn latency(&self, part: f64) -> Duration {
        let rank = (self.latencies.len() as f64 * part) as usize;
        self.latencies.get(rank).copied().unwrap_or_default()
    }
}

/// A server with the table and its items.
pub(crate) struct Load {
    port: u16,
}

impl Load {
    pub(crate) fn prepare(port: u16) -> Load {
        let mut client = HttpClient::connect(port).expect("the server listens");
        let table = r#"{"TableName":"load","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}"#;
        assert_eq!(client.send(&request("CreateTable", table)).ok(), Some(200), "a table");
        for partition in 0..PARTITIONS {
            for row in 0..ROWS {
                // A table may not accept items immediately.
                let started = Instant::now();
                while client.send(&put(partition, row, 0)).expect("a response") != 200 {
                    assert!(started.elapsed() < Duration::from_secs(30), "the table takes items");
                }
            }
        }
        Load { port }
    }

    pub(crate) fn run(&self, work: Work, clients: usize, round: Duration) -> Outcome {
        let started = Instant::now();
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                let port = self.port;
                std::thread::spawn(move || run_client(port, work, number as u64 + 1, round))
            })
            .collect();
        let mut outcome = Outcome { latencies: vec![], elapsed: round, failed: 0 };
        for thread in threads {
            let (latencies, failed) = thread.join().expect("a client does not panic");
            outcome.latencies.extend(latencies);
            outcome.failed += failed;
        }
        outcome.elapsed = started.elapsed();
        outcome.latencies.sort_unstable();
        outcome
    }
}

/// Runs one client; returns its latencies and the number of rejected requests.
fn run_client(port: u16, work: Work, seed: u64, round: Duration) -> (Vec<Duration>, usize) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut client = HttpClient::connect(port).expect("the server listens");
    let (mut latencies, mut failed) = (vec![], 0);
    let started = Instant::now();
    while started.elapsed() < round && failed == 0 {
        let request = work.request(&mut random);
        let start = Instant::now();
        failed += usize::from(client.send(&request).ok() != Some(200));
        latencies.push(start.elapsed());
    }
    (latencies, failed)
}

fn put(partition: u64, row: u64, version: u64) -> Vec<u8> {
    let item = item(partition, row, version);
    request("PutItem", &format!(r#"{{"TableName":"load","Item":{item}}}"#))
}

/// Returns an item that differs from the stored one: a write that changes nothing may be free.
fn item(partition: u64, row: u64, version: u64) -> String {
    let text = "x".repeat(960);
    format!(
        r#"{{"pk":{{"S":"p{partition}"}},"sk":{{"N":"{row}"}},"version":{{"N":"{version}"}},"text":{{"S":"{text}"}}}}"#
    )
}

fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *random;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits ^ (bits >> 27)) >> 16
}

/// Builds a request.
fn request(operation: &str, body: &str) -> Vec<u8> {
    format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host, Signature=b\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
