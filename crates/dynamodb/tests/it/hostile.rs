//! Every request gets a response, whatever it contains.

use proptest::prelude::*;
use proptest::sample::select;

use crate::service::{Service, TASKS};

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

/// Valid requests, to be mutated.
const SEEDS: &[&str] = &[
    TASKS,
    r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"due":{"N":"1.5e3"},"x":{"L":[{"M":{"a":{"NULL":true}}},{"B":"AQID"},{"NS":["1","2"]}]}},"ConditionExpression":"attribute_not_exists(#a) AND size(x) > :n","ExpressionAttributeNames":{"#a":"id"},"ExpressionAttributeValues":{":n":{"N":"0"}},"ReturnConsumedCapacity":"INDEXES","ReturnValues":"ALL_OLD"}"##,
    r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"UpdateExpression":"SET a = if_not_exists(a, :n) + :n, b[1].c = :n REMOVE d ADD e :n DELETE f :s","ExpressionAttributeValues":{":n":{"N":"1"},":s":{"SS":["a"]}},"ReturnValues":"UPDATED_NEW"}"##,
    r##"{"TableName":"tasks","IndexName":"by_due","KeyConditionExpression":"list = :a AND due BETWEEN :n AND :n","FilterExpression":"NOT (x IN (:a, :n) OR begins_with(y, :a))","ExpressionAttributeValues":{":a":{"S":"a"},":n":{"N":"1"}},"Limit":3,"ScanIndexForward":false,"ExclusiveStartKey":{"list":{"S":"a"},"id":{"S":"1"},"due":{"N":"1"}}}"##,
    r##"{"RequestItems":{"tasks":{"Keys":[{"list":{"S":"a"},"id":{"S":"1"}}],"ProjectionExpression":"a, b.c"}}}"##,
    r##"{"RequestItems":{"tasks":[{"PutRequest":{"Item":{"list":{"S":"a"},"id":{"S":"2"}}}},{"DeleteRequest":{"Key":{"list":{"S":"a"},"id":{"S":"3"}}}}]},"ReturnConsumedCapacity":"TOTAL"}"##,
    r##"{"TransactItems":[{"Put":{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"2"}}}},{"ConditionCheck":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"3"}},"ConditionExpression":"attribute_exists(id)"}}],"ClientRequestToken":"t"}"##,
    r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"AttributeUpdates":{"a":{"Value":{"N":"1"}},"b":{"Action":"ADD","Value":{"L":[{"N":"1"}]}},"c":{"Action":"DELETE"},"d":{"Action":"DELETE","Value":{"SS":["a"]}}},"Expected":{"a":{"Exists":false},"b":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"2"}]},"c":{"Value":{"S":"x"}}},"ConditionalOperator":"OR","ReturnValues":"ALL_NEW"}"##,
    r##"{"TableName":"tasks","IndexName":"by_due","KeyConditions":{"list":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]},"due":{"ComparisonOperator":"GE","AttributeValueList":[{"N":"1"}]}},"QueryFilter":{"id":{"ComparisonOperator":"IN","AttributeValueList":[{"S":"1"}]},"title":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"x"}]}},"ScanFilter":{"id":{"ComparisonOperator":"BEGINS_WITH","AttributeValueList":[{"S":"1"}]},"x":{"ComparisonOperator":"NULL"}},"ConditionalOperator":"AND","AttributesToGet":["id","due"],"Limit":3}"##,
    r##"{"RequestItems":{"tasks":{"Keys":[{"list":{"S":"a"},"id":{"S":"1"}}],"AttributesToGet":["a","b.c"]}}}"##,
    r##"{"Statement":"SELECT * FROM tasks WHERE \"list\" = ? AND id > '1' ORDER BY id DESC","Parameters":[{"S":"a"}],"Limit":2,"ConsistentRead":true,"NextToken":"eyJvZiI6IjAifQ"}"##,
    r##"{"Statements":[{"Statement":"UPDATE tasks SET a = ?, b = b + 1 WHERE \"list\" = 'a' AND id = '1' RETURNING ALL NEW *","Parameters":[{"L":[{"N":"1"}]}]},{"Statement":"INSERT INTO tasks VALUE {'list':'a','id':?}","Parameters":[{"S":"2"}]}]}"##,
    r##"{"TransactStatements":[{"Statement":"DELETE FROM tasks WHERE \"list\" = 'a' AND id = ?","Parameters":[{"S":"1"}]},{"Statement":"EXISTS(SELECT * FROM tasks WHERE \"list\" = 'a' AND id = '3' AND x IS MISSING)"}],"ClientRequestToken":"t"}"##,
    r##"{"TableName":"tasks","BackupName":"backup","BackupArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tasks/backup/01700000000000-00000000","TargetTableName":"again","SourceTableName":"tasks","RestoreDateTime":1700000000.5,"PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true,"RecoveryPeriodInDays":3},"GlobalSecondaryIndexOverride":[],"TimeRangeLowerBound":1,"Limit":3}"##,
    r##"{"StreamArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tasks/stream/x","ShardId":"shardId-00000000000000000000-all","ShardIteratorType":"LATEST","ShardIterator":"a|b|1"}"##,
];

fn is_response(status: u16, body: &str) -> bool {
    (status == 200 && (body.is_empty() || body.starts_with('{')))
        || (status == 400 && body.starts_with("{\"__type\":\"com.amazon"))
}

/// Replaces pieces of a request.
fn mutated() -> impl Strategy<Value = String> {
    let pieces = [
        "{}",
        "[]",
        "null",
        "\"\"",
        "-1",
        "1e999",
        "true",
        "{\"S\":\"\"}",
        "\"\\ud800\"",
        "((((",
        ":",
        "#",
        "{\"N\":\"x\"}",
        "{\"L\":[",
        "\u{0}",
    ];
    let cut = (0_usize..2000, 0_usize..40, select(pieces.to_vec()));
    (select(SEEDS.to_vec()), proptest::collection::vec(cut, 1..4)).prop_map(|(seed, cuts)| {
        let mut text: Vec<char> = seed.chars().collect();
        for (at, length, piece) in cuts {
            let at = at % (text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

/// Replaces one whole value of a request, which stays valid JSON.
fn replaced() -> impl Strategy<Value = String> {
    let values = [
        "{}",
        "[]",
        "null",
        "\"\"",
        "-1",
        "12.5",
        "true",
        "{\"S\":\"\"}",
        "[{}]",
        "{\"N\":\"1\"}",
        "{\"tasks\":{}}",
        "[[]]",
        "\"ALL_NEW\"",
    ];
    (select(SEEDS.to_vec()), 0_usize..100, select(values.to_vec())).prop_map(
        |(seed, nth, value)| {
            let colons: Vec<usize> = seed.match_indices("\":").map(|(at, _)| at + 2).collect();
            let at = colons[nth % colons.len()];
            let end = at + value_length(&seed[at..]);
            format!("{}{value}{}", &seed[..at], &seed[end..])
        },
    )
}

/// The length of the JSON value that a text begins with.
fn value_length(text: &str) -> usize {
    let (mut depth, mut in_text) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text && depth == 0 => return at,
            b'}' | b']' if !in_text => depth -= 1,
            b',' if !in_text && depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_get_a_response(bytes in proptest::collection::vec(any::<u8>(), 0..200),
                          operation in select(OPERATIONS.to_vec())) {
        let reply = Service::new().raw(&format!("DynamoDB_20120810.{operation}"), &bytes);
        prop_assert_eq!(reply.status, 400);
    }

    #[test]
    fn mutated_requests_get_a_response(text in mutated(), operation in select(OPERATIONS.to_vec())) {
        let reply = Service::with_tasks().call(operation, &text);
        prop_assert!(is_response(reply.status, &reply.body), "{} {}", reply.status, reply.body);
    }

    #[test]
    fn requests_with_replaced_values_get_a_response(texts in proptest::collection::vec(replaced(), 8)) {
        let service = Service::with_tasks();
        for text in texts {
            for operation in OPERATIONS {
                let reply = service.call(operation, &text);
                prop_assert!(is_response(reply.status, &reply.body), "{} {}", reply.status, reply.body);
            }
        }
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
