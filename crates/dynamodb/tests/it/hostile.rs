//! Every request gets a response, whatever it contains. `mutated.rs` has requests that are almost valid.

use keyloom_testkit::cases;
use proptest::prelude::*;
use proptest::sample::select;

use crate::service::Service;

const OPERATIONS: &[&str] = &[
    "GetItem",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactWriteItems",
    "TransactGetItems",
    "ExecuteStatement",
    "BatchExecuteStatement",
    "ExecuteTransaction",
    "CreateTable",
    "UpdateTable",
    "DescribeTable",
    "DeleteTable",
    "ListTables",
    "UpdateTimeToLive",
    "TagResource",
    "UntagResource",
    "ListTagsOfResource",
    "ListStreams",
    "DescribeStream",
    "GetShardIterator",
    "GetRecords",
    "CreateBackup",
    "DescribeBackup",
    "ListBackups",
    "DeleteBackup",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "DescribeContinuousBackups",
    "UpdateContinuousBackups",
];

fn is_response(status: u16, body: &str) -> bool {
    (status == 200 && (body.is_empty() || body.starts_with('{')))
        || (status == 400 && body.starts_with("{\"__type\":\"com.amazon"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]

    #[test]
    fn random_bytes_get_a_response(bytes in proptest::collection::vec(any::<u8>(), 0..200),
                          operation in select(OPERATIONS.to_vec())) {
        let reply = Service::new().raw(&format!("DynamoDB_20120810.{operation}"), &bytes);
        prop_assert_eq!(reply.status, 400);
    }

    #[test]
    fn random_expressions_get_a_response(text in "[a-c:#(),.=<>+ \\[\\]0-9-]{0,60}") {
        let service = Service::with_tasks();
        let text = text.replace('"', "");
        for (operation, body) in [
            ("Scan", format!(r##"{{"TableName":"tasks","FilterExpression":"{text}"}}"##)),
            ("Scan", format!(r##"{{"TableName":"tasks","ProjectionExpression":"{text}"}}"##)),
            ("UpdateItem", format!(r##"{{"TableName":"tasks","UpdateExpression":"SET {text}",
                "Key":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}}}}"##)),
        ] {
            let reply = service.call(operation, &body);
            prop_assert!(is_response(reply.status, &reply.body), "{} {}", reply.status, reply.body);
        }
    }
}

#[test]
fn deep_json_is_rejected() {
    let service = Service::with_tasks();
    for depth in [199, 200, 201, 100_000] {
        let list = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let map = format!("{}1{}", r##"{"M":"##.repeat(depth), "}".repeat(depth));
        for value in [list, map] {
            let body = format!(r##"{{"TableName":"tasks","Item":{{"a":{value}}}}}"##);
            let reply = service.call("PutItem", &body);
            assert!(reply.body.contains("SerializationException"), "{depth}: {}", reply.body);
        }
    }
}

/// Every valid value takes four bytes or more; the tree of a list of zeros would take a hundred times
/// its size.
#[test]
fn json_that_is_denser_than_any_request_is_rejected() {
    let service = Service::with_tasks();
    for piece in ["0,", "[],", "{},", "[0],", "[[]],"] {
        let list = piece.repeat(100_000);
        let list = list.trim_end_matches(',');
        let body = format!(r##"{{"TableName":"tasks","Unknown":[{list}]}}"##);
        let reply = service.call("Scan", &body);
        assert!(reply.body.contains("SerializationException"), "{piece}: {}", reply.body);
    }
    // The densest valid requests: a set of short strings, and a list of numbers.
    let texts: Vec<String> = ('a'..='z').map(|c| format!("\"{c}\"")).collect();
    let (texts, numbers) = (texts.join(","), r##"{"N":"0"},"##.repeat(100_000));
    let numbers = numbers.trim_end_matches(',');
    let item = format!(
        r##"{{"list":{{"S":"a"}},"id":{{"S":"1"}},"x":{{"SS":[{texts}]}},"y":{{"L":[{numbers}]}}}}"##
    );
    service.ok("PutItem", &format!(r##"{{"TableName":"tasks","Item":{item}}}"##));
}

#[test]
fn unknown_operations_differ_from_unsupported_ones() {
    let service = Service::new();
    let unknown = r##"{"__type":"com.amazon.coral.service#UnknownOperationException"}"##;
    for target in
        ["", "x", "DynamoDB_20120810.", "DynamoDB_20120810.getItem", "DynamoDB_20111205.GetItem"]
    {
        assert_eq!(service.raw(target, b"{}").body, unknown, "{target}");
    }
    let known = service.raw("DynamoDB_20120810.ExportTableToPointInTime", b"{}");
    assert!(known.body.contains("is not supported by this server"), "{}", known.body);
}
