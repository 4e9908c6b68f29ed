//! Queries and scans.

use crate::service::Service;

fn with_items(count: usize) -> Service {
    let service = Service::with_tasks();
    for n in 0..count {
        // Three of four have the same due, so that the index has many rows with one key.
        let due = if n % 4 == 0 { n } else { 7 };
        service.ok("PutItem", &format!(
            r##"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"{n:04}"}},"due":{{"N":"{due}"}},"x":{{"N":"{n}"}}}}}}"##
        ));
    }
    service
}

/// Returns the ids on all pages of an index or the table, in order.
fn walk(service: &Service, index: Option<&str>, forward: bool, limit: usize) -> Vec<String> {
    let mut ids = Vec::new();
    let mut start = String::new();
    let index = index.map(|name| format!(r##","IndexName":"{name}""##)).unwrap_or_default();
    loop {
        let body = service.ok("Query", &format!(
            r##"{{"TableName":"tasks","KeyConditionExpression":"#l = :a","ExpressionAttributeNames":{{"#l":"list"}},"ExpressionAttributeValues":{{":a":{{"S":"a"}}}},"Limit":{limit},"ScanIndexForward":{forward}{index}{start}}}"##
        ));
        let (items, rest) = body.split_once(r##"],"Count""##).unwrap();
        ids.extend(items.split(r##""id":{"S":""##).skip(1).map(|id| id[..4].to_owned()));
        let Some((_, key)) = rest.split_once(r##""LastEvaluatedKey":"##) else { return ids };
        start = format!(r##","ExclusiveStartKey":{}"##, key.strip_suffix('}').unwrap());
    }
}

#[test]
fn pages_of_equal_index_keys_are_complete_in_both_directions() {
    let service = with_items(60);
    for index in [None, Some("by_due")] {
        let all = walk(&service, index, true, 1000);
        assert_eq!(all.len(), 60);
        let mut backward = all.clone();
        backward.reverse();
        for limit in 1..=61 {
            assert_eq!(walk(&service, index, true, limit), all, "{index:?} {limit}");
            assert_eq!(walk(&service, index, false, limit), backward, "{index:?} {limit}");
        }
    }
}

#[test]
fn pages_of_thousands_of_equal_index_keys_are_complete() {
    let service = with_items(2400);
    let all = walk(&service, Some("by_due"), true, 10_000);
    let mut backward = all.clone();
    backward.reverse();
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (2400, 2400));
    for limit in [7, 99, 100, 101, 1799, 1800, 1801, 2399, 2400, 2401] {
        assert_eq!(walk(&service, Some("by_due"), true, limit), all, "{limit}");
        assert_eq!(walk(&service, Some("by_due"), false, limit), backward, "{limit}");
    }
}

#[test]
fn responses_have_the_requested_form() {
    with_items(3).check(&[
        (
            "Query",
            r##"{"TableName":"tasks","KeyConditionExpression":"#l = :a AND id >= :i","ExpressionAttributeNames":{"#l":"list"},"ExpressionAttributeValues":{":a":{"S":"a"},":i":{"S":"0001"}},"ProjectionExpression":"id","ScanIndexForward":false,"Limit":1}"##,
            r##"{"Items":[{"id":{"S":"0002"}}],"Count":1,"ScannedCount":1,"LastEvaluatedKey":{"id":{"S":"0002"},"list":{"S":"a"}}}"##,
        ),
        (
            "Query",
            r##"{"TableName":"tasks","IndexName":"by_due","KeyConditionExpression":"#l = :a AND due = :d","ExpressionAttributeNames":{"#l":"list"},"ExpressionAttributeValues":{":a":{"S":"a"},":d":{"N":"7.0"}},"Limit":1}"##,
            r##"{"Items":[{"due":{"N":"7"},"id":{"S":"0001"},"list":{"S":"a"}}],"Count":1,"ScannedCount":1,"LastEvaluatedKey":{"due":{"N":"7"},"id":{"S":"0001"},"list":{"S":"a"}}}"##,
        ),
        (
            "Scan",
            r##"{"TableName":"tasks","FilterExpression":"x > :n","ExpressionAttributeValues":{":n":{"N":"0"}},"Select":"COUNT"}"##,
            r##"{"Count":2,"ScannedCount":3}"##,
        ),
        (
            "Scan",
            r##"{"TableName":"tasks","Segment":0,"TotalSegments":1,"ProjectionExpression":"x","Limit":3}"##,
            r##"{"Items":[{"x":{"N":"0"}},{"x":{"N":"1"}},{"x":{"N":"2"}}],"Count":3,"ScannedCount":3,"LastEvaluatedKey":{"id":{"S":"0002"},"list":{"S":"a"}}}"##,
        ),
        // A scan of an index is accepted: attributes that are not projected are missing.
        (
            "Scan",
            r##"{"TableName":"tasks","IndexName":"by_due","FilterExpression":"x >= :n","ExpressionAttributeValues":{":n":{"N":"0"}}}"##,
            r##"{"Items":[],"Count":0,"ScannedCount":3}"##,
        ),
    ]);
}

#[test]
fn invalid_queries_are_rejected() {
    let service = with_items(1);
    let cases = [
        (
            r##""KeyConditionExpression":"id = :a""##,
            "Query condition missed key schema element: list",
        ),
        (r##""KeyConditionExpression":"#l > :a""##, "Query key condition not supported"),
        (
            r##""KeyConditionExpression":"#l = :a AND x = :a""##,
            "Query condition missed key schema element: id",
        ),
        (
            r##""KeyConditionExpression":"#l = :a AND id = :n""##,
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            r##""KeyConditionExpression":"#l = :a","FilterExpression":"id = :a""##,
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: id",
        ),
        (
            r##""KeyConditionExpression":"#l = :a","IndexName":"by_due","FilterExpression":"y = :n OR x.z = :n OR y = :a""##,
            "One or more parameter values were invalid: Secondary index by_due does not project one or more filter attributes: [x, y]",
        ),
        (
            r##""KeyConditionExpression":"#l = :a","IndexName":"none""##,
            "The table does not have the specified index: none",
        ),
        (
            r##""KeyConditionExpression":"#l = :a","IndexName":"by_due","ConsistentRead":true"##,
            "Consistent reads are not supported on global secondary indexes",
        ),
        (
            r##""KeyConditionExpression":"#l = :a","IndexName":"by_due","Select":"ALL_ATTRIBUTES""##,
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index by_due because its projection type is not ALL",
        ),
        (
            r##""KeyConditionExpression":"#l = :a","ExclusiveStartKey":{"list":{"S":"b"},"id":{"S":"1"}}"##,
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            r##""KeyConditionExpression":"#l = :a AND id > :a","ExclusiveStartKey":{"list":{"S":"a"},"id":{"S":"1"}}"##,
            "The provided starting key does not match the range key predicate",
        ),
        (
            r##""KeyConditionExpression":"#l = :a","ExclusiveStartKey":{"list":{"S":"a"}}"##,
            "The provided starting key is invalid",
        ),
        (
            r##""KeyConditionExpression":"#l = :a","Limit":0"##,
            "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
        ),
    ];
    for (part, expected) in cases {
        let mut given = Vec::new();
        if part.contains(":a") {
            given.push(r##"":a":{"S":"a"}"##);
        }
        if part.contains(":n") {
            given.push(r##"":n":{"N":"1"}"##);
        }
        let names =
            if part.contains("#l") { r##","ExpressionAttributeNames":{"#l":"list"}"## } else { "" };
        let body = format!(
            r##"{{"TableName":"tasks",{part},"ExpressionAttributeValues":{{{}}}{names}}}"##,
            given.join(",")
        );
        service.check(&[("Query", &body, &format!("!ValidationException: {expected}"))]);
    }
    service.check(&[
        (
            "Query",
            r##"{"TableName":"tasks"}"##,
            "!ValidationException: Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
        ),
        (
            "Scan",
            r##"{"TableName":"tasks","Segment":1,"TotalSegments":1}"##,
            "!ValidationException: The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 1 is not less than TotalSegments: 1",
        ),
        (
            "Scan",
            r##"{"TableName":"tasks","Select":"COUNT","ProjectionExpression":"a"}"##,
            "!ValidationException: Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
    ]);
}

#[test]
fn batches_read_and_write() {
    let service = with_items(2);
    service.check(&[
        (
            "BatchGetItem",
            r##"{"RequestItems":{"tasks":{"Keys":[{"list":{"S":"a"},"id":{"S":"0001"}},{"list":{"S":"a"},"id":{"S":"9"}}],"ProjectionExpression":"x"}}}"##,
            r##"{"Responses":{"tasks":[{"x":{"N":"1"}}]},"UnprocessedKeys":{}}"##,
        ),
        (
            "BatchGetItem",
            r##"{"RequestItems":{"tasks":{"Keys":[{"list":{"S":"a"},"id":{"S":"1"}},{"list":{"S":"a"},"id":{"S":"1"}}]}}}"##,
            "!ValidationException: Provided list of item keys contains duplicates",
        ),
        (
            "BatchGetItem",
            r##"{"RequestItems":{}}"##,
            "!ValidationException: 1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ),
        (
            "BatchWriteItem",
            r##"{"RequestItems":{"tasks":[{"PutRequest":{"Item":{"list":{"S":"b"},"id":{"S":"1"}}}},{"DeleteRequest":{"Key":{"list":{"S":"a"},"id":{"S":"0001"}}}}]}}"##,
            r##"{"UnprocessedItems":{}}"##,
        ),
        ("Scan", r##"{"TableName":"tasks","Select":"COUNT"}"##, r##"{"Count":2,"ScannedCount":2}"##),
        (
            "BatchWriteItem",
            r##"{"RequestItems":{"none":[{"DeleteRequest":{"Key":{"a":{"S":"b"}}}}]}}"##,
            "!ResourceNotFoundException: Requested resource not found",
        ),
    ]);
}
