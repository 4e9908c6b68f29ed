//! An endpoint to test, and assertions on its responses.

use std::sync::Arc;

use keyloom_dynamodb::{Endpoint, EndpointOptions, Reply};
use keyloom_store::MemoryStore;
use keyloom_testkit::ManualClock;
use pollster::block_on;

/// An endpoint over a memory store with a manual clock.
pub(crate) struct Service {
    endpoint: Endpoint,
    pub(crate) clock: ManualClock,
    pub(crate) store: Arc<MemoryStore>,
}

impl Service {
    pub(crate) fn new() -> Service {
        let clock = ManualClock::new();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let options = EndpointOptions { clock: Arc::new(clock.clone()), ..Default::default() };
        Service { endpoint: Endpoint::new(store.clone(), options), clock, store }
    }

    /// Creates a service with a table `tasks` with the key `list` and `id`, the global index `by_due`
    /// on `list` and the number `due`, and the local index `by_title`.
    pub(crate) fn with_tasks() -> Service {
        let service = Service::new();
        service.ok("CreateTable", TASKS);
        service
    }

    /// Sends a request.
    pub(crate) fn call(&self, operation: &str, body: &str) -> Reply {
        self.call_bytes(operation, body.as_bytes())
    }

    /// Sends a request that need not be text.
    pub(crate) fn call_bytes(&self, operation: &str, body: &[u8]) -> Reply {
        let service = match operation {
            "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => {
                "DynamoDBStreams"
            }
            _ => "DynamoDB",
        };
        self.raw(&format!("{service}_20120810.{operation}"), body)
    }

    /// Sends a request that must succeed; returns the body.
    pub(crate) fn ok(&self, operation: &str, body: &str) -> String {
        let reply = self.call(operation, body);
        assert_eq!(reply.status, 200, "{operation} {body}: {}", reply.body);
        reply.body
    }

    /// Sends requests and asserts their responses. One that begins with `!` is an error: its code, a
    /// colon, and its message.
    pub(crate) fn check(&self, cases: &[(&str, &str, &str)]) {
        for (operation, body, expected) in cases {
            let reply = self.call(operation, body);
            let found = match reply.status {
                200 => reply.body.clone(),
                _ => format!("!{}", error_of(&reply.body)),
            };
            assert_eq!(found, *expected, "{operation} {body}");
        }
    }

    /// Sends raw bytes to a target.
    pub(crate) fn raw(&self, target: &str, body: &[u8]) -> Reply {
        block_on(self.endpoint.call(target, body))
    }
}

/// The request that creates the table of [`Service::with_tasks`].
pub(crate) const TASKS: &str = r#"{"TableName": "tasks", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "list", "AttributeType": "S"},
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "due", "AttributeType": "N"},
        {"AttributeName": "title", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "list", "KeyType": "HASH"},
        {"AttributeName": "id", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [{"IndexName": "by_due", "Projection": {"ProjectionType": "KEYS_ONLY"},
        "KeySchema": [{"AttributeName": "list", "KeyType": "HASH"},
            {"AttributeName": "due", "KeyType": "RANGE"}]}],
    "LocalSecondaryIndexes": [{"IndexName": "by_title", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "list", "KeyType": "HASH"},
            {"AttributeName": "title", "KeyType": "RANGE"}]}]}"#;

/// Formats an error as `Code: message`, or with the rest of its body.
pub(crate) fn error_of(body: &str) -> String {
    let (_, rest) = body.split_once('#').unwrap_or(("", body));
    let (code, rest) = rest.split_once('"').unwrap_or((rest, ""));
    let rest = rest.trim_start_matches(',');
    let rest = rest.strip_suffix('}').unwrap_or(rest);
    let message = rest.strip_prefix("\"message\":\"").or(rest.strip_prefix("\"Message\":\""));
    let message = message.filter(|message| !message.contains("\",\""));
    match message.and_then(|message| message.strip_suffix('"')) {
        Some(message) => format!("{code}: {}", message.replace("\\\"", "\"")),
        None if rest.is_empty() => code.to_owned(),
        None => format!("{code}: {rest}"),
    }
}

/// Returns a string member of a JSON text, such as an id to use in later requests.
pub(crate) fn member<'a>(body: &'a str, name: &str) -> &'a str {
    let (_, rest) = body.split_once(&format!("\"{name}\":\"")).expect("the member is there");
    rest.split_once('"').expect("the text ends").0
}
