//! The requests: items of 1 KB in partitions of 20, and a stream of such items.

use keyloom_bench::HttpClient;

pub(crate) const PARTITIONS: u64 = 200;
pub(crate) const ROWS: u64 = 20;
/// Writes of a batch.
const BATCH: u64 = 25;
/// Items of a scanned page, and records of a page of the stream.
const PAGE: u64 = 100;

/// A kind of request.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Put,
    Get,
    Query,
    LegacyQuery,
    Transact,
    Statement,
    BatchWrite,
    Scan,
    Update,
    Records,
}

impl Work {
    pub(crate) const ALL: [Work; 10] = [
        Work::Put,
        Work::Get,
        Work::Query,
        Work::LegacyQuery,
        Work::Transact,
        Work::Statement,
        Work::BatchWrite,
        Work::Scan,
        Work::Update,
        Work::Records,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Work::Put => "PutItem 1 KB",
            Work::Get => "GetItem 1 KB",
            Work::Query => "Query 20 × 1 KB",
            Work::LegacyQuery => "Query 20 × 1 KB, KeyConditions",
            Work::Transact => "TransactWriteItems of 4",
            Work::Statement => "ExecuteStatement by key, 1 KB",
            Work::BatchWrite => "BatchWriteItem of 25",
            Work::Scan => "Scan 100 × 1 KB",
            Work::Update => "UpdateItem of 1 KB",
            Work::Records => "GetRecords 100 × 1 KB",
        }
    }

    /// Builds a request. `iterator` is the start of the stream.
    pub(crate) fn request(self, random: &mut u64, iterator: &str) -> Vec<u8> {
        let key = Key { partition: next(random) % PARTITIONS, row: next(random) % ROWS };
        match self {
            Work::Put => put(&key, next(random)),
            Work::Get => get(&key),
            Work::Query => query(&key),
            Work::LegacyQuery => legacy_query(&key),
            Work::Transact => transact(&key, next(random)),
            Work::Statement => statement(&key),
            Work::BatchWrite => batch_write("load", &key, next(random)),
            Work::Scan => scan(&key),
            Work::Update => update(&key, next(random)),
            Work::Records => records(iterator),
        }
    }
}

/// The key of an item.
pub(crate) struct Key {
    pub(crate) partition: u64,
    pub(crate) row: u64,
}

impl Key {
    fn json(&self) -> String {
        let Key { partition, row } = self;
        format!(r#"{{"pk":{{"S":"p{partition}"}},"sk":{{"N":"{row}"}}}}"#)
    }

    /// The key that is so many rows further, in the same partition or the next ones.
    fn plus(&self, rows: u64) -> Key {
        let row = self.row + rows;
        Key { partition: (self.partition + row / ROWS) % PARTITIONS, row: row % ROWS }
    }

    /// An item that differs from the stored one: a write that changes nothing may be free.
    fn item(&self, version: u64) -> String {
        let (Key { partition, row }, text) = (self, "x".repeat(960));
        format!(
            r#"{{"pk":{{"S":"p{partition}"}},"sk":{{"N":"{row}"}},"version":{{"N":"{version}"}},"text":{{"S":"{text}"}}}}"#
        )
    }
}

pub(crate) fn put(key: &Key, version: u64) -> Vec<u8> {
    let item = key.item(version);
    request("PutItem", &format!(r#"{{"TableName":"load","Item":{item}}}"#))
}

fn get(key: &Key) -> Vec<u8> {
    let key = key.json();
    request("GetItem", &format!(r#"{{"TableName":"load","Key":{key},"ConsistentRead":true}}"#))
}

fn query(key: &Key) -> Vec<u8> {
    let partition = key.partition;
    request(
        "Query",
        &format!(
            r#"{{"TableName":"load","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{{":p":{{"S":"p{partition}"}}}},"Limit":20}}"#
        ),
    )
}

fn legacy_query(key: &Key) -> Vec<u8> {
    let partition = key.partition;
    request(
        "Query",
        &format!(
            r#"{{"TableName":"load","KeyConditions":{{"pk":{{"ComparisonOperator":"EQ","AttributeValueList":[{{"S":"p{partition}"}}]}}}},"Limit":20}}"#
        ),
    )
}

fn transact(key: &Key, version: u64) -> Vec<u8> {
    let put = |rows| {
        let row = (key.row + rows) % ROWS;
        let item = Key { row, ..*key }.item(version);
        format!(r#"{{"Put":{{"TableName":"load","Item":{item}}}}}"#)
    };
    let puts: Vec<String> = (0..4).map(put).collect();
    request("TransactWriteItems", &format!(r#"{{"TransactItems":[{}]}}"#, puts.join(",")))
}

fn statement(key: &Key) -> Vec<u8> {
    let Key { partition, row } = key;
    request(
        "ExecuteStatement",
        &format!(
            r#"{{"Statement":"SELECT * FROM \"load\" WHERE pk = ? AND sk = {row}","Parameters":[{{"S":"p{partition}"}}],"ConsistentRead":true}}"#
        ),
    )
}

fn batch_write(table: &str, key: &Key, version: u64) -> Vec<u8> {
    let put = |rows| format!(r#"{{"PutRequest":{{"Item":{}}}}}"#, key.plus(rows).item(version));
    let puts: Vec<String> = (0..BATCH).map(put).collect();
    let body = format!(r#"{{"RequestItems":{{"{table}":[{}]}}}}"#, puts.join(","));
    request("BatchWriteItem", &body)
}

fn scan(key: &Key) -> Vec<u8> {
    let key = key.json();
    let body = format!(r#"{{"TableName":"load","ExclusiveStartKey":{key},"Limit":{PAGE}}}"#);
    request("Scan", &body)
}

fn update(key: &Key, version: u64) -> Vec<u8> {
    let key = key.json();
    request(
        "UpdateItem",
        &format!(
            r##"{{"TableName":"load","Key":{key},"UpdateExpression":"SET #v = :v","ExpressionAttributeNames":{{"#v":"version"}},"ExpressionAttributeValues":{{":v":{{"N":"{version}"}}}}}}"##
        ),
    )
}

fn records(iterator: &str) -> Vec<u8> {
    let body = format!(r#"{{"ShardIterator":"{iterator}","Limit":{PAGE}}}"#);
    streams_request("GetRecords", &body)
}

/// Makes a table with a stream of several pages; returns the iterator at its start, or nothing if the
/// server has no streams.
pub(crate) fn start_of_stream(client: &mut HttpClient) -> Option<String> {
    let stream =
        r#","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}"#;
    let arn = ask(client, &request("CreateTable", &table("feed", stream)), "LatestStreamArn")?;
    for batch in 0..4 * PAGE / BATCH {
        let first = Key { partition: 0, row: 0 }.plus(batch * BATCH);
        client.send(&batch_write("feed", &first, batch)).ok().filter(|status| *status == 200)?;
    }
    let described = streams_request("DescribeStream", &format!(r#"{{"StreamArn":"{arn}"}}"#));
    let shard = ask(client, &described, "ShardId")?;
    let body = format!(
        r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"TRIM_HORIZON"}}"#
    );
    ask(client, &streams_request("GetShardIterator", &body), "ShardIterator")
}

/// Sends a request and returns a string member of the response, the first of this name.
fn ask(client: &mut HttpClient, request: &[u8], name: &str) -> Option<String> {
    client.send(request).ok().filter(|status| *status == 200)?;
    let body = std::str::from_utf8(client.body()).ok()?;
    let (_, rest) = body.split_once(&format!("\"{name}\""))?;
    let (_, rest) = rest.split_once('"')?;
    rest.split_once('"').map(|(value, _)| value.to_owned())
}

/// The request that creates a table.
pub(crate) fn create(name: &str) -> Vec<u8> {
    request("CreateTable", &table(name, ""))
}

fn table(name: &str, more: &str) -> String {
    format!(
        r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}},{{"AttributeName":"sk","AttributeType":"N"}}],"KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}},{{"AttributeName":"sk","KeyType":"RANGE"}}]{more}}}"#
    )
}

fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *random;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits ^ (bits >> 27)) >> 16
}

fn request(operation: &str, body: &str) -> Vec<u8> {
    request_to("DynamoDB", operation, body)
}

fn streams_request(operation: &str, body: &str) -> Vec<u8> {
    request_to("DynamoDBStreams", operation, body)
}

fn request_to(service: &str, operation: &str, body: &str) -> Vec<u8> {
    format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: {service}_20120810.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host, Signature=b\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
